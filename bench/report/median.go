package report

import (
	"math"
	"slices"
)

// Median returns the middle value, or the mean of the two in the middle; NaN without any.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
