package cdc

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Selector decides by name which tables are replicated. The zero value selects none.
type Selector struct {
	include, exclude []*regexp.Regexp
}

// NewSelector returns a selector of the tables that match an include and no exclude, which are patterns on schema.table: * stands for any
// text, ? for one character. Empty include is "public.*". A pattern without a schema is an error.
func NewSelector(include, exclude []string) (Selector, error) {
	if len(include) == 0 {
		include = []string{"public.*"}
	}
	in, err := compilePatterns(include)
	if err != nil {
		return Selector{}, err
	}
	out, err := compilePatterns(exclude)
	return Selector{in, out}, err
}

func compilePatterns(patterns []string) ([]*regexp.Regexp, error) {
	var out []*regexp.Regexp
	for _, p := range patterns {
		if schema, table, ok := strings.Cut(p, "."); !ok || schema == "" || table == "" {
			return nil, fmt.Errorf(`compile table pattern %q: want schema.table, for example "public.*"`, p)
		}
		q := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(p))
		out = append(out, regexp.MustCompile(`(?s)\A`+q+`\z`))
	}
	return out, nil
}

// Selects reports whether a table is replicated.
func (s Selector) Selects(schema, table string) bool {
	matches := func(re *regexp.Regexp) bool { return re.MatchString(schema + "." + table) }
	return slices.ContainsFunc(s.include, matches) && !slices.ContainsFunc(s.exclude, matches)
}
