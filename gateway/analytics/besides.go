package analytics

import "strings"

// besides returns err as the cause of a refusal that says in its reason already what the error said does. Nil: there is nothing to add.
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

// cause is an error that says less of itself.
type cause struct {
	text string
	err  error
}

func (c *cause) Error() string { return c.text }

// Unwrap returns the whole error.
func (c *cause) Unwrap() error { return c.err }
