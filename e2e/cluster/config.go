package cluster

import (
	"embed"
	"fmt"
	"os"
	"text/template"
)

//go:embed config
var configs embed.FS

var templates = template.Must(template.New("").Option("missingkey=error").ParseFS(configs, "config/*"))

// write fills a template of config into a file.
func write(path, name string, values any) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write the configuration %s: %w", name, err)
	}
	defer f.Close()
	if err := templates.ExecuteTemplate(f, name, values); err != nil {
		return fmt.Errorf("write the configuration %s: %w", name, err)
	}
	return f.Close()
}
