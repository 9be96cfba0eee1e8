package kubectl

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// tone is how a line is meant.
type tone int

const (
	neutral tone = iota
	good
	doubtful
	bad
)

func toneOf(isGood, isDoubtful bool) tone {
	switch {
	case isGood:
		return good
	case isDoubtful:
		return doubtful
	}
	return bad
}

// painter colours text where it is on.
type painter struct{ on bool }

func (p painter) say(t tone, text string) string {
	color := map[tone]string{good: "32", doubtful: "33", bad: "31"}[t]
	if !p.on || color == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// table is aligned text, of which each line has a tone.
type table struct {
	paint painter
	lines []string
	tones []tone
}

func newTable(paint painter, columns ...string) *table {
	t := &table{paint: paint}
	t.add(neutral, columns...)
	return t
}

func (t *table) add(tone tone, cells ...string) {
	for i, c := range cells {
		cells[i] = strings.NewReplacer("\t", " ", "\n", " ").Replace(c)
	}
	t.lines, t.tones = append(t.lines, strings.Join(cells, "\t")), append(t.tones, tone)
}

// write writes the table after an empty line, or nothing where it has no rows.
func (t *table) write(w io.Writer) error {
	if len(t.lines) == 1 {
		return nil
	}
	var aligned bytes.Buffer
	tw := tabwriter.NewWriter(&aligned, 0, 0, 3, ' ', 0)
	for _, line := range t.lines {
		fmt.Fprintln(tw, line)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	i := 0
	for line := range strings.Lines(aligned.String()) {
		fmt.Fprintln(w, t.paint.say(t.tones[i], strings.TrimRight(line, " \n")))
		i++
	}
	return nil
}

// size writes a number of bytes for people.
func size(bytes *int64) string {
	if bytes == nil {
		return "-"
	}
	amount, unit := float64(*bytes), "B"
	for _, larger := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if amount < 1024 {
			break
		}
		amount, unit = amount/1024, larger
	}
	if unit == "B" {
		return fmt.Sprintf("%.0f %s", amount, unit)
	}
	return fmt.Sprintf("%.1f %s", amount, unit)
}
