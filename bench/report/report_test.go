package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"
)

func sample() *Report {
	r := &Report{
		Name: "sample", Title: "A <sample> & more", Measured: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC),
		Tables: []Table{{Title: "Rates", Columns: []string{"phase", "per second"}, Rows: [][]string{{"alone", "1000"}, {"both", "950"}}}},
		Charts: []Chart{
			{Title: "Speed-up", Unit: "×", Labels: []string{"Q01", "Q02"}, Log: true, Limit: 10,
				Series: []Series{{"columnar", []float64{12, 300}}, {"row", []float64{math.NaN(), 1}}}},
			{Title: "Nothing", Unit: "ms", Labels: []string{"a"}, Series: []Series{{"s", []float64{0}}}},
		},
		Data: map[string]int{"n": 1},
	}
	r.AddSetting("warehouses", 2)
	r.AtMost("loss", 5.04, 5, "%.0f %%")
	r.AtLeast("speed-up", 12, 10, "%.0f×")
	return r
}

func TestReport_formsCarrySettingsAndTargets(t *testing.T) {
	r := sample()
	var text, page, data bytes.Buffer
	if err := errors.Join(r.Text(&text), r.HTML(&page), r.JSON(&data)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"warehouses", "loss", "≤ 5 %", "no", "speed-up", "≥ 10×", "yes"} {
		for form, got := range map[string]string{"text": text.String(), "page": page.String(), "JSON": data.String()} {
			if form == "JSON" && (want == "no" || want == "yes") {
				continue
			}
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %q:\n%s", form, want, got)
			}
		}
	}
	var fields struct {
		Targets []struct{ Met bool }
		Results map[string]int
	}
	if err := json.Unmarshal(data.Bytes(), &fields); err != nil {
		t.Fatal(err)
	}
	if len(fields.Targets) != 2 || fields.Targets[0].Met || !fields.Targets[1].Met || fields.Results["n"] != 1 {
		t.Errorf("JSON form says %+v", fields)
	}
}

func TestReport_tellsWhatWasMissed(t *testing.T) {
	const want = "1 of 2 targets were missed: loss: 5 %, target ≤ 5 %"
	if err := sample().Missed(); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	var met Report
	met.AtMost("violations", 0, 0, "%.0f")
	if err := met.Missed(); err != nil {
		t.Errorf("%v, although none was", err)
	}
}

func TestHTML_isWellFormedAndSelfContained(t *testing.T) {
	var page bytes.Buffer
	if err := sample().HTML(&page); err != nil {
		t.Fatal(err)
	}
	for _, outside := range []string{"http://", "https://", "src=", "href=", "@import", "NaN", "Inf"} {
		if strings.Contains(page.String(), outside) {
			t.Errorf("the page contains %q", outside)
		}
	}
	d := xml.NewDecoder(strings.NewReader(page.String()))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, page.String())
		}
	}
}

func TestAxis_mapsItsEndsToThePlot(t *testing.T) {
	for _, a := range []axis{{low: 0, high: 7}, {low: 0.1, high: 4000, log: true}} {
		if x := a.x(a.high); math.Abs(x-plotWidth) > 1e-6 {
			t.Errorf("%+v maps its end to %f", a, x)
		}
		if x := a.x(a.low); x != 0 {
			t.Errorf("%+v maps its begin to %f", a, x)
		}
		if n := len(a.ticks()); n < 3 || n > 8 {
			t.Errorf("%+v has %d ticks", a, n)
		}
	}
}

func TestMedian_ofNoneOddAndEven(t *testing.T) {
	if m := Median(nil); !math.IsNaN(m) {
		t.Errorf("median of none is %v", m)
	}
	if m := Median([]float64{3, 1, 2}); m != 2 {
		t.Errorf("median of three is %v", m)
	}
	if m := Median([]float64{4, 1, 2, 3}); m != 2.5 {
		t.Errorf("median of four is %v", m)
	}
}

func TestChart_hasRoomForItsLabels(t *testing.T) {
	const long = "4:2:1, the poorest has the longest statement of all"
	for _, labels := range [][]string{{"a"}, {"a", long}} {
		d := Chart{Labels: labels, Series: []Series{{Values: []float64{1, 2}}}, Limit: 1}.draw()
		for _, label := range d.Labels {
			if room := label.X / float64(len(label.Text)); room < 6 {
				t.Errorf("%q ends at %.0f: it begins before the picture", label.Text, label.X)
			}
		}
		for _, b := range d.Bars {
			if b.X != float64(d.PlotLeft) || b.X+b.Width > float64(d.Width) {
				t.Errorf("with the labels %q a bar goes from %.0f to %.0f of %d", labels, b.X, b.X+b.Width, d.Width)
			}
		}
	}
}

func TestTarget_isNotMetByNothing(t *testing.T) {
	var r Report
	r.AtMost("staleness", math.NaN(), 200, "%.1f ms")
	r.AtLeast("speed-up", math.NaN(), 10, "%.1f×")
	for _, target := range r.Targets {
		if target.Met || target.Measured != "nothing" {
			t.Errorf("%+v", target)
		}
	}
}

func TestChart_leavesOutWhatCannotBeDrawn(t *testing.T) {
	for _, logarithmic := range []bool{false, true} {
		c := Chart{Labels: []string{"a", "b", "c"}, Series: []Series{{Values: []float64{1, math.Inf(1), math.NaN()}}}, Log: logarithmic}
		if d := c.draw(); len(d.Bars) != 1 || len(d.Ticks) > 20 {
			t.Errorf("logarithmic %t: %d bars and %d ticks", logarithmic, len(d.Bars), len(d.Ticks))
		}
	}
}
