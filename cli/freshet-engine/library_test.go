package main

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// The linker's message must not be lost when the goroutine changes threads between the failure and the question for it.
func TestLoadLibrary_namesTheMissingLibrary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing.so")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				if _, err := loadLibrary(path); err == nil || !strings.Contains(err.Error(), path) {
					t.Errorf("got %v, want an error that names %s", err, path)
					return
				}
			}
		})
	}
	wg.Wait()
}
