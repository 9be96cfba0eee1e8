package replica

import (
	"fmt"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// resume tells where a stream that broke inside a transaction goes on. The
// source sends the transaction again from its beginning; the changes that were
// taken already are skipped, if they are the same ones.
type resume struct {
	taken  int    // changes of the open transaction
	digest uint64 // of them
	// again counts the changes that came again; -1 when nothing is to be skipped.
	again       int
	againDigest uint64
}

// digestOf mixes what tells one change from another at little cost.
func digestOf(digest uint64, c *cdc.Change) uint64 {
	const prime = 1099511628211 // of FNV-1a
	mix := func(v uint64) { digest = (digest ^ v) * prime }
	mix(uint64(c.Table.ID)<<8 | uint64(c.Op))
	for _, row := range []cdc.Row{c.Old, c.New} {
		for i := range row {
			data := row[i].Data
			mix(uint64(row[i].Kind)<<32 | uint64(len(data)))
			if len(data) > 0 {
				mix(uint64(data[0])<<8 | uint64(data[len(data)-1]))
			}
		}
	}
	return digest
}

// take notes changes and returns those that are new.
func (r *resume) take(changes []cdc.Change) ([]cdc.Change, error) {
	for r.again >= 0 && len(changes) > 0 {
		if r.again == r.taken {
			if r.againDigest != r.digest {
				return nil, fmt.Errorf("%w, which came back with other changes", errTorn)
			}
			r.again = -1
			break
		}
		r.againDigest = digestOf(r.againDigest, &changes[0])
		r.again++
		changes = changes[1:]
	}
	for i := range changes {
		r.digest = digestOf(r.digest, &changes[i])
	}
	r.taken += len(changes)
	return changes, nil
}

// end ends the transaction.
func (r *resume) end() error {
	if r.again >= 0 && (r.again != r.taken || r.againDigest != r.digest) {
		return fmt.Errorf("%w, which came back with other changes", errTorn)
	}
	*r = resume{again: -1}
	return nil
}

// rewind is for a new stream.
func (r *resume) rewind() {
	r.again, r.againDigest = 0, 0
	if r.taken == 0 {
		r.again = -1
	}
}
