package cluster

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestStrimziLack_saysWhatStrimziSays(t *testing.T) {
	condition := func(kind, status string) any {
		return map[string]any{"type": kind, "status": status, "reason": "InvalidResource", "message": "no listener"}
	}
	const unseen, broken = `Kafka "shop" is not ready: Strimzi has not looked at it yet`, `Kafka "shop" is not ready: InvalidResource: no listener`
	for name, c := range map[string]struct {
		seen       int64
		conditions []any
		want       string
	}{
		"ready":                 {2, []any{condition("Ready", "True")}, ""},
		"ready with a warning":  {2, []any{condition("Warning", "True"), condition("Ready", "True")}, ""},
		"ready before a change": {1, []any{condition("Ready", "True")}, unseen},
		"not ready":             {2, []any{condition("NotReady", "True")}, broken},
		"no longer not ready":   {2, []any{condition("NotReady", "False")}, unseen},
		"no condition":          {2, nil, unseen},
		"a condition of nobody": {2, []any{"?"}, unseen},
	} {
		live := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"generation": int64(2)}, "status": map[string]any{"observedGeneration": c.seen, "conditions": c.conditions},
		}}
		got := ""
		if l := strimziLack("Kafka", "shop", live); l != nil {
			got = l.Detail
			if l.Reason != "KafkaNotReady" || l.Remedy == "" {
				t.Errorf("%s: reason %s, remedy %q", name, l.Reason, l.Remedy)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if l := strimziLack("Kafka", "shop", &unstructured.Unstructured{Object: map[string]any{}}); l == nil || l.Detail != unseen {
		t.Errorf("an object that is not there yet: %v", l)
	}
}
