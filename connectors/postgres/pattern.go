package postgres

import (
	"fmt"
	"regexp"
	"strings"
)

// selector decides by name which tables are replicated.
type selector struct {
	include, exclude []*regexp.Regexp
}

func newSelector(include, exclude []string) (selector, error) {
	in, err := compilePatterns(include)
	if err != nil {
		return selector{}, err
	}
	ex, err := compilePatterns(exclude)
	if err != nil {
		return selector{}, err
	}
	return selector{in, ex}, nil
}

func compilePatterns(patterns []string) ([]*regexp.Regexp, error) {
	var out []*regexp.Regexp
	for _, p := range patterns {
		schema, table, ok := strings.Cut(p, ".")
		if !ok || schema == "" || table == "" {
			return nil, fmt.Errorf(`compile table pattern %q: want schema.table, for example "public.*"`, p)
		}
		q := regexp.QuoteMeta(p)
		q = strings.ReplaceAll(strings.ReplaceAll(q, `\*`, `.*`), `\?`, `.`)
		out = append(out, regexp.MustCompile(`(?s)\A`+q+`\z`))
	}
	return out, nil
}

func (s selector) selects(schema, table string) bool {
	name := schema + "." + table
	return matchesAny(s.include, name) && !matchesAny(s.exclude, name)
}

func matchesAny(res []*regexp.Regexp, name string) bool {
	for _, re := range res {
		if re.MatchString(name) {
			return true
		}
	}
	return false
}
