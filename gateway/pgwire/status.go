package pgwire

// txStatus is the transaction status by which PostgreSQL says that it awaits the next statement.
type txStatus byte

const (
	txUnknown txStatus = 0   // PostgreSQL has not said it, or the flow is lost
	txIdle    txStatus = 'I' // in no transaction block
	txOpen    txStatus = 'T' // in a block
	txFailed  txStatus = 'E' // in a block that has failed: PostgreSQL refuses all but its end
)
