package profile

import "strconv"

// Settings are those of an engine whose queries run on so many threads each, at least one.
func Settings(threads int) map[string]string {
	s := map[string]string{"max_threads": strconv.Itoa(threads)}
	if threads == 1 {
		// Groups are divided among 256 tables for threads to merge them side by side. One thread only pays for the division; it
		// comes twenty times later than by default then, for groups that may have to go to disk.
		s["group_by_two_level_threshold"], s["group_by_two_level_threshold_bytes"] = "2000000", "1000000000"
		// So are a join's rows, and those that probe it; the gateway asks for that where it pays nevertheless.
		s["join_algorithm"] = "direct,hash"
	}
	return s
}
