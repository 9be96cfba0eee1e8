package platform

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// A reset deletes the lock at last, while it has it, and others may have opened it before.
func TestHold_isExclusiveThoughTheLockIsDeleted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var holders, held atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5000 {
				lock, err := hold(dir)
				if errors.Is(err, ErrHeld) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if holders.Add(1) > 1 {
					t.Error("two hold the state folder")
				}
				held.Add(1)
				holders.Add(-1)
				if err := errors.Join(os.Remove(filepath.Join(dir, lockFile)), lock.Close()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if held.Load() == 0 {
		t.Error("nobody ever held it")
	}
}
