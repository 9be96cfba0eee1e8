package kubebin

import (
	"fmt"
	"io"
	"time"
)

// Report returns a Progress that writes a line for every program's beginning and, at most, each interval.
func Report(w io.Writer, now func() time.Time, interval time.Duration) Progress {
	var program string
	var last time.Time
	return func(p string, done, total int) {
		if p == program && now().Sub(last) < interval {
			return
		}
		program, last = p, now()
		fmt.Fprintf(w, "building %s: %d of at most %d packages\n", p, done, total)
	}
}
