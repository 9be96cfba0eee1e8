package rig

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Machine is the CPU time of the whole machine, in clock ticks since it was started.
type Machine struct{ total, stolen uint64 }

// ReadMachine reads it from /proc/stat.
func ReadMachine() (Machine, error) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Machine{}, fmt.Errorf("read the machine's CPU time: %w", err)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	fields := strings.Fields(line)
	const first, stolen, last = 1, 8, 8 // user … steal; guests' time is in user's already
	if len(fields) <= last {
		return Machine{}, fmt.Errorf("read the machine's CPU time: unexpected line %q in /proc/stat", line)
	}
	var m Machine
	for i := first; i <= last; i++ {
		ticks, err := strconv.ParseUint(fields[i], 10, 64)
		if err != nil {
			return Machine{}, fmt.Errorf("read the machine's CPU time: %w", err)
		}
		m.total += ticks
		if i == stolen {
			m.stolen = ticks
		}
	}
	return m, nil
}

// StolenSince returns the share of the CPU time since before that the machine's host gave to others: what it is on a
// machine of its own is 0, and figures taken while it is much are not worth much.
func (m Machine) StolenSince(before Machine) float64 {
	if m.total == before.total {
		return 0
	}
	return float64(m.stolen-before.stolen) / float64(m.total-before.total)
}
