package pgwire

// The SQLSTATE codes that the gateway itself raises.
const (
	codeProtocolViolation    = "08P01"
	codeConnectionFailure    = "08006"
	codeFeatureUnsupported   = "0A000"
	codeInvalidAuthorization = "28000"
	codeInvalidParameter     = "22023"
	codeTransactionTimeout   = "25P04"
	codeUndefinedObject      = "42704"
	codeLockNotAvailable     = "55P03"
	codeTooManyConnections   = "53300"
	codeCantChangeParameter  = "55P02"
	codeQueryCanceled        = "57014"
	codeAdminShutdown        = "57P01"
	codeCannotConnectNow     = "57P03"
	codeInternal             = "XX000"
)
