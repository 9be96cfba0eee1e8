package debezium

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// settleTime is how long after the END of a transaction its rows may come, where the END may not count all of them.
const settleTime = time.Second

// settling is how far everything has to be read for a transaction to be complete whose END may count too little: what
// Debezium had sent of it before it resumed is in the topics then, and what it sent after that was sent before the END.
type settling struct {
	txID        uint64
	since       time.Time
	starts, end kadm.ListedOffsets // nil: not asked yet
}

// settled reports whether all was read that belongs to a transaction.
func (rd *reader) settled(ctx context.Context, head endEvent, now time.Time) (bool, error) {
	if rd.settling == nil || rd.settling.txID != head.txID {
		rd.settling = &settling{txID: head.txID, since: now}
	}
	st := rd.settling
	if st.end == nil {
		if now.Sub(st.since) < settleTime {
			return false, nil
		}
		names := slices.Collect(maps.Keys(rd.topics))
		starts, err := rd.s.admin.ListStartOffsets(ctx, names...)
		end, endErr := rd.s.admin.ListEndOffsets(ctx, names...)
		if err := errors.Join(err, starts.Error(), endErr, end.Error()); err != nil {
			return false, fmt.Errorf("find the ends of topics: %w", err)
		}
		st.starts, st.end = starts, end
	}
	for name, t := range rd.topics {
		for i, p := range t.parts {
			start, _ := st.starts.Lookup(name, int32(i))
			if end, ok := st.end.Lookup(name, int32(i)); ok && max(p.next, start.Offset) < end.Offset {
				return false, nil
			}
		}
	}
	rd.settling = nil
	return true, nil
}
