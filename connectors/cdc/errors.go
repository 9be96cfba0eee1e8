package cdc

import "fmt"

// Code is a stable name for a condition that needs a person. It is also the
// condition reason, the metric label and the heading in docs/runbook.md.
type Code string

// The codes of tables and streams that stopped.
const (
	CodeNoKey               Code = "NoKey"
	CodeUnsupportedType     Code = "UnsupportedType"
	CodeUnrepresentable     Code = "UnrepresentableValue"
	CodeSchemaChange        Code = "UnsupportedSchemaChange"
	CodeSlotLost            Code = "SlotLost"
	CodeHistoryLost         Code = "HistoryLost"
	CodeChangefeedStopped   Code = "ChangefeedStopped"
	CodePublicationMismatch Code = "PublicationMismatch"
	CodeSourceMismatch      Code = "SourceMismatch"
	CodePrivilege           Code = "InsufficientPrivilege"
	CodeConnectorFailed     Code = "ConnectorFailed"
	CodeConnectorHalted     Code = "ConnectorHalted"
	CodeConfiguration       Code = "SourceConfiguration"
	CodeEngineDiskFull      Code = "EngineDiskFull"
	CodeEngineMemory        Code = "EngineMemoryExceeded"
	CodeEngineRefused       Code = "EngineRefused"
	CodeSuperseded          Code = "Superseded"
)

// RemedyRecopy is the remedy where the stream has lost something that the replica needs.
const RemedyRecopy = "drop the replica, so that all tables are copied anew: freshet local reset --replica, or DROP DATABASE freshet in the columnar engine and a restart of the gateway"

// HistoryLost returns the error of a stream whose next changes are not there any more.
func HistoryLost(detail string, args ...any) error {
	return &TerminalError{Code: CodeHistoryLost, Detail: fmt.Sprintf(detail, args...), Remedy: RemedyRecopy}
}

// TableError stops the replication of one table. Its queries go to the source database.
type TableError struct {
	Code   Code
	Table  string // schema.name
	Detail string
	Remedy string
}

func (e *TableError) Error() string {
	return fmt.Sprintf("%s: table %s: %s; %s", e.Code, e.Table, e.Detail, e.Remedy)
}

// TerminalError stops a whole stream until a person acts.
type TerminalError struct {
	Code   Code
	Detail string
	Remedy string
	Err    error
}

func (e *TerminalError) Error() string {
	return fmt.Sprintf("%s: %s; %s", e.Code, e.Detail, e.Remedy)
}

// Unwrap returns the cause, if any.
func (e *TerminalError) Unwrap() error { return e.Err }
