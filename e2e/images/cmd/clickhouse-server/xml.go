package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// toXML translates a configuration from YAML by ClickHouse's rules, for the library is built without a YAML parser (26.7): a key is an element,
// a list is the element repeated, a key with an @ is an attribute of the element around it. Elements at the top are replaced by others.
func toXML(text []byte, others map[string]any) ([]byte, error) {
	var content map[string]any
	// Numbers as they are written: a float would lose digits of a large one.
	if err := yaml.Unmarshal(text, &content, func(d *json.Decoder) *json.Decoder { d.UseNumber(); return d }); err != nil {
		return nil, err
	}
	maps.Copy(content, others)
	var b bytes.Buffer
	if err := element(&b, "clickhouse", content); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func element(b *bytes.Buffer, name string, content any) error {
	if list, ok := content.([]any); ok {
		for _, item := range list {
			if err := element(b, name, item); err != nil {
				return err
			}
		}
		return nil
	}
	fmt.Fprintf(b, "<%s", name)
	children, ok := content.(map[string]any)
	if !ok {
		b.WriteByte('>')
		if content != nil {
			if err := xml.EscapeText(b, fmt.Append(nil, content)); err != nil {
				return err
			}
		}
		fmt.Fprintf(b, "</%s>", name)
		return nil
	}
	names := slices.Sorted(maps.Keys(children))
	for _, child := range names {
		if attribute, ok := strings.CutPrefix(child, "@"); ok {
			fmt.Fprintf(b, ` %s="`, attribute)
			if err := xml.EscapeText(b, fmt.Append(nil, children[child])); err != nil {
				return err
			}
			b.WriteByte('"')
		}
	}
	b.WriteByte('>') // and no space: an element with a substitution must be empty
	for _, child := range names {
		if strings.HasPrefix(child, "@") {
			continue
		}
		if err := element(b, child, children[child]); err != nil {
			return err
		}
	}
	fmt.Fprintf(b, "</%s>", name)
	return nil
}
