package lack

import "fmt"

// Lack is a reason of a condition, what is wrong, and what to do about it. It is an error too.
type Lack struct{ Reason, Detail, Remedy string }

// Error implements error.
func (l *Lack) Error() string { return fmt.Sprintf("%s; %s", l.Detail, l.Remedy) }
