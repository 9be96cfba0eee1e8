package affinity

import (
	"runtime"

	"github.com/freshet-io/freshet/local/process"
)

// Pin pins the calling goroutine to the given CPUs for as long as it lives; none leaves it free.
func Pin(cores []int) error {
	if len(cores) == 0 {
		return nil
	}
	// The thread is never unlocked, so that it ends with the goroutine and no other one gets its affinity.
	runtime.LockOSThread()
	return process.Pin(0, cores)
}
