package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// group makes the worker's group forget those that were killed. A new worker gets no tasks before the broker misses its predecessor,
// which takes the whole session; but there is one worker, so that all others in its group are dead.
type group struct {
	worker *Connect
	done   bool
}

// dismissDead reports whether the group holds none but the worker of this run.
func (g *group) dismissDead(ctx context.Context) bool {
	if g.done {
		return true
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(g.worker.brokers()), kgo.RequestRetries(0))
	if err != nil {
		return false
	}
	defer client.Close()
	described, err := kadm.NewClient(client).DescribeGroups(ctx, connectGroup)
	if err != nil || described.Error() != nil {
		return false
	}
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Group = connectGroup
	for _, m := range described[connectGroup].Members {
		if m.ClientID == g.worker.clientID {
			continue
		}
		gone := kmsg.NewLeaveGroupRequestMember()
		gone.MemberID = m.MemberID
		leave.Members = append(leave.Members, gone)
	}
	if len(leave.Members) > 0 {
		resp, err := leave.RequestWith(ctx, client)
		if err != nil || resp.ErrorCode != 0 {
			return false
		}
	}
	g.done = true
	return true
}
