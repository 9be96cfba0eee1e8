package pgwire

// The SQLSTATE codes that the gateway itself raises.
const (
	codeProtocolViolation    = "08P01"
	codeConnectionFailure    = "08006"
	codeFeatureUnsupported   = "0A000"
	codeInvalidAuthorization = "28000"
	codeInvalidParameter     = "22023"
	codeFailedTransaction    = "25P02"
	codeTransactionTimeout   = "25P04"
	codeUndefinedObject      = "42704"
	codeDuplicateCursor      = "42P03"
	codeLockNotAvailable     = "55P03"
	codeDiskFull             = "53100"
	codeTooManyConnections   = "53300"
	codeProgramLimitExceeded = "54000"
	codeNotPrerequisiteState = "55000"
	codeCantChangeParameter  = "55P02"
	codeQueryCanceled        = "57014"
	codeAdminShutdown        = "57P01"
	codeCannotConnectNow     = "57P03"
	codeInternal             = "XX000"
)
