package main

import (
	"testing"

	"github.com/freshet-io/freshet/e2e/images"
)

func TestReference_findsAnImageByItsWholeName(t *testing.T) {
	const all = "freshet=r/freshet:1,freshet-again=r/freshet:2,tests=r:5000/tests:3"
	for name, want := range map[string]string{images.Freshet: "r/freshet:1", images.Tests: "r:5000/tests:3", "again": "", images.Kafka: ""} {
		got, err := reference(all, name)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("image %s is %q, %v; want %q", name, got, err, want)
		}
	}
}
