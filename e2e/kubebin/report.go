package kubebin

import (
	"fmt"
	"time"
)

// Report returns a Progress that tells of every program's beginning and then, at most, once in an interval.
func Report(tell func(line string), now func() time.Time, interval time.Duration) Progress {
	var program string
	var last time.Time
	return func(p string, done, total int) {
		if p == program && now().Sub(last) < interval {
			return
		}
		program, last = p, now()
		tell(fmt.Sprintf("building %s: %d of at most %d packages", p, done, total))
	}
}
