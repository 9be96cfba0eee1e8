package cockroachdb

import (
	"fmt"

	"github.com/freshet-io/freshet/connectors/cdc"
)

func misconfigured(remedy string, err error, detail string, args ...any) error {
	return &cdc.TerminalError{Code: cdc.CodeConfiguration, Detail: fmt.Sprintf(detail, args...), Remedy: remedy, Err: err}
}

func changefeedStopped(remedy, detail string, args ...any) error {
	return &cdc.TerminalError{Code: cdc.CodeChangefeedStopped, Detail: fmt.Sprintf(detail, args...), Remedy: remedy}
}
