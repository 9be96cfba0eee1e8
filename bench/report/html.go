package report

import (
	_ "embed"
	"html/template"
	"io"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// HTML writes the report as one page that needs nothing else.
func (r *Report) HTML(w io.Writer) error {
	var drawings []drawing
	for _, c := range r.Charts {
		drawings = append(drawings, c.draw())
	}
	return page.Execute(w, struct {
		*Report
		Drawings []drawing
	}{r, drawings})
}
