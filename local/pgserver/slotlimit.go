package pgserver

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// leastSlotLimit is four segments of the log, in bytes. With less PostgreSQL would give slots up that are hardly behind.
const leastSlotLimit = 64 << 20

// slotLimit is how much of the log a slot may keep, given what the disk has free and what the log takes, in bytes: a third of both, so that
// neither a stopped replica nor a load that is faster than it fills the disk. The operator leaves as much of a volume. If what is kept
// did not count, each start of a server whose replica is far behind would lower the limit.
func slotLimit(free, log int64) string {
	return fmt.Sprintf("%dMB", max(leastSlotLimit, (free+log)/3)>>20)
}

// limitSlots adds the limit for slots to settings that have none.
func (s *Server) limitSlots(settings map[string]string) error {
	const name = "max_slot_wal_keep_size"
	if _, ok := settings[name]; ok {
		return nil
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(s.cfg.DataDir, &disk); err != nil {
		return fmt.Errorf("free space of %s: %w", s.cfg.DataDir, err)
	}
	log, err := logSize(filepath.Join(s.cfg.DataDir, "pg_wal"))
	if err != nil {
		return fmt.Errorf("size of the write-ahead log: %w", err)
	}
	settings[name] = slotLimit(int64(disk.Bavail)*disk.Bsize, log)
	return nil
}

// logSize adds up the segments of the log in a folder, in bytes.
func logSize(dir string) (int64, error) {
	segments, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	var size int64
	for _, f := range segments {
		info, err := f.Info()
		if err != nil {
			return 0, err
		}
		if info.Mode().IsRegular() {
			size += info.Size()
		}
	}
	return size, nil
}
