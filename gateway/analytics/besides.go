package analytics

import "strings"

// besides returns the cause of a refusal whose reason says already what said does: err without the words of said, so that a client does not
// read the same twice. It returns nil if that leaves nothing, and err itself if said is nil or no part of err's text.
func besides(err, said error) error {
	if said == nil {
		return err
	}
	text := said.Error()
	before, after, found := strings.Cut(err.Error(), text)
	if !found {
		return err
	}
	text = strings.Trim(strings.TrimSuffix(before, ": ")+after, ": ")
	if text == "" {
		return nil
	}
	return &cause{text, err}
}

// cause is an error that is told by a part of its text.
type cause struct {
	text string
	err  error
}

func (c *cause) Error() string { return c.text }

// Unwrap returns the whole error.
func (c *cause) Unwrap() error { return c.err }
