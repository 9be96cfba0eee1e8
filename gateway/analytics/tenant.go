package analytics

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/shares"
)

// settings are the engine's for a statement of a tenant: the plan's, and those that hold it to the tenant's limits.
func settings(plan map[string]string, tenant *shares.Tenant) map[string]string {
	limits := tenant.Limits
	if limits.Memory == 0 && limits.Time == 0 {
		return plan
	}
	out := maps.Clone(plan)
	if out == nil {
		out = map[string]string{}
	}
	if limits.Memory > 0 {
		out["max_memory_usage"] = strconv.FormatInt(limits.Memory, 10)
	}
	if limits.Time > 0 {
		out["max_execution_time"] = strconv.FormatFloat(limits.Time.Seconds(), 'f', -1, 64)
	}
	return out
}

// overLimit tells the client which limit of its tenant a statement met; nil: none. PostgreSQL must not run it instead,
// or the limits would send the heaviest statements there.
func overLimit(tenant *shares.Tenant, err error) *pgwire.Error {
	if full, ok := errors.AsType[*shares.QueueFullError](err); ok {
		return &pgwire.Error{
			Code: "53400", Message: full.Error(), Err: err,
			Hint: "Run the statement again later, or raise the tenant's limit queue or concurrency.",
		}
	}
	var exception *ch.Exception
	if !errors.As(err, &exception) {
		return nil
	}
	switch limits := tenant.Limits; {
	case limits.Time > 0 && (exception.Code == proto.ErrTimeoutExceeded || exception.Code == proto.ErrTooSlow):
		return &pgwire.Error{
			Code: "57014", Message: fmt.Sprintf("canceling statement due to the time limit of tenant %q, %v", tenant.Name, limits.Time), Err: err,
			Hint: "Let the statement read less, or raise the tenant's limit time.",
		}
	case limits.Memory > 0 && exception.Code == proto.ErrMemoryLimitExceeded && !strings.Contains(exception.Message, "(total)"):
		return &pgwire.Error{
			Code: "53200", Message: fmt.Sprintf("statement exceeds the memory limit of tenant %q, %d bytes", tenant.Name, limits.Memory), Err: err,
			Hint: "Let the statement group or join fewer rows, or raise the tenant's limit memory.",
		}
	}
	return nil
}
