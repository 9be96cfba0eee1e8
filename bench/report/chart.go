package report

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// Chart is a horizontal bar chart: a group of bars, one per series, for each label.
type Chart struct {
	Title  string
	Unit   string
	Labels []string
	Series []Series
	// Log uses a logarithmic axis, for values that differ by orders of magnitude.
	Log bool
	// Limit draws a line at a target, in the same unit; zero: none.
	Limit float64
}

// Series is one value per label; NaN and infinities, as of what took no time, leave a bar out.
type Series struct {
	Name   string
	Values []float64
}

// The layout of a chart, in pixels.
const (
	labelWidth = 170 // at least
	letter     = 6.5 // wide, in the mean, in the page's font for charts
	plotWidth  = 560
	barHeight  = 14
	groupGap   = 10
	labelGap   = 8
	axisHeight = 24
)

// The geometry that the page's template draws.
type (
	drawing struct {
		Title         string
		Width, Height int
		PlotLeft      int
		PlotBottom    int
		Legend        []legendEntry
		Labels        []textAt
		Bars          []bar
		Ticks         []tick
		LimitX        float64
		HasLimit      bool
	}
	legendEntry struct{ Name, Color string }
	textAt      struct {
		X, Y float64
		Text string
	}
	bar struct {
		X, Y, Width, Height float64
		Color, Text         string
	}
	tick struct {
		X    float64
		Text string
	}
)

var colors = []string{"#2b6cb0", "#dd6b20", "#2f855a", "#805ad5"}

// draw computes the geometry of a chart.
func (c Chart) draw() drawing {
	group := barHeight*len(c.Series) + groupGap
	left := c.plotLeft()
	d := drawing{
		Title: c.Title, PlotLeft: left, Width: left + plotWidth + 90,
		PlotBottom: group * len(c.Labels), Height: group*len(c.Labels) + axisHeight,
	}
	scale := c.scale()
	for i, s := range c.Series {
		d.Legend = append(d.Legend, legendEntry{s.Name, colors[i%len(colors)]})
	}
	for i, label := range c.Labels {
		top := float64(i * group)
		d.Labels = append(d.Labels, textAt{float64(left - labelGap), top + float64(group)/2, label})
		for j, s := range c.Series {
			v := s.Values[i]
			if !finite(v) {
				continue
			}
			d.Bars = append(d.Bars, bar{
				X: float64(left), Y: top + groupGap/2 + float64(j*barHeight), Width: scale.x(v), Height: barHeight - 2,
				Color: colors[j%len(colors)], Text: number(v) + " " + c.Unit,
			})
		}
	}
	for _, v := range scale.ticks() {
		d.Ticks = append(d.Ticks, tick{float64(left) + scale.x(v), number(v)})
	}
	if c.Limit > 0 {
		d.HasLimit, d.LimitX = true, float64(left)+scale.x(c.Limit)
	}
	return d
}

// plotLeft is where the bars begin: the longest label has room before them.
func (c Chart) plotLeft() int {
	left := labelWidth
	for _, label := range c.Labels {
		left = max(left, int(letter*float64(utf8.RuneCountInString(label)))+2*labelGap)
	}
	return left
}

// axis maps values to pixels.
type axis struct {
	low, high float64
	log       bool
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func (c Chart) scale() axis {
	a := axis{low: math.Inf(1), high: c.Limit, log: c.Log}
	for _, s := range c.Series {
		for _, v := range s.Values {
			if finite(v) {
				a.high = max(a.high, v)
				if v > 0 {
					a.low = min(a.low, v)
				}
			}
		}
	}
	if a.high <= 0 {
		a.high = 1
	}
	if !a.log || math.IsInf(a.low, 1) {
		a.low, a.log = 0, false
		return a
	}
	a.low = math.Pow(10, math.Floor(math.Log10(a.low)))
	return a
}

func (a axis) x(v float64) float64 {
	switch {
	case v <= a.low:
		return 0
	case a.log:
		return plotWidth * math.Log(v/a.low) / math.Log(a.high/a.low)
	default:
		return plotWidth * (v - a.low) / (a.high - a.low)
	}
}

// ticks returns about five round values, or the powers of ten.
func (a axis) ticks() []float64 {
	var ts []float64
	if a.log {
		for v := a.low; v <= a.high*1.001; v *= 10 {
			ts = append(ts, v)
		}
		return ts
	}
	step := math.Pow(10, math.Floor(math.Log10(a.high/4)))
	for _, m := range []float64{1, 2, 5, 10} {
		if a.high/(step*m) <= 6 {
			step *= m
			break
		}
	}
	for v := 0.0; v <= a.high*1.001; v += step {
		ts = append(ts, v)
	}
	return ts
}

// number formats a value with three significant digits, or as a whole number.
func number(v float64) string {
	if a := math.Abs(v); a >= 100 || a == math.Trunc(a) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
