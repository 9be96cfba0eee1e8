package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// notOfACode is the section for who has no platform yet that could name a code.
const notOfACode = "The local platform does not start"

// A code has a section, and a section is of a code, of a reason in an object's status, or of an alert.
func TestRunbook_hasASectionForEveryCodeAndNoOther(t *testing.T) {
	runbook, err := os.ReadFile("../../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(string(runbook), -1) {
		if sections[m[1]] {
			t.Errorf("docs/runbook.md has two sections %q", m[1])
		}
		sections[m[1]] = true
	}
	codes := constants(t, "../../connectors/cdc/errors.go", "Code")
	if len(codes) < 5 {
		t.Errorf("found %d codes only: has the declaration moved?", len(codes))
	}
	known := map[string]bool{notOfACode: true}
	for _, code := range codes {
		known[code] = true
		if !sections[code] {
			t.Errorf("docs/runbook.md has no section %q", code)
		}
	}
	err = filepath.WalkDir("../../operator", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, reason := range constants(t, path, "Reason") {
			known[reason] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	alerts, err := os.ReadFile("../../charts/freshet/rules/freshet.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for section := range sections {
		if !known[section] && !strings.Contains(string(alerts), "/docs/runbook.md#"+strings.ToLower(section)+"\n") {
			t.Errorf("docs/runbook.md has a section %q, which no program and no alert names", section)
		}
	}
}

// constants returns the strings of the constants in a file whose names begin with prefix.
func constants(t *testing.T, path, prefix string) (values []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) || len(spec.Values) == 0 {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return true
	})
	return values
}
