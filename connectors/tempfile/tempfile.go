package tempfile

import (
	"errors"
	"os"
)

// Create returns a new file that is gone when it is closed or its process ends. The pattern names it until then, in errors alone; an empty
// dir is that of [os.TempDir].
func Create(dir, pattern string) (*os.File, error) {
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
