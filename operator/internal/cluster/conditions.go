package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// Conditions are the conditions of all HTAPClusters as a metric. They are read when they are asked for: a cluster that is deleted
// leaves no series behind. Of several operators the one that works tells them.
type Conditions struct {
	reader  client.Reader
	elected <-chan struct{}
	metric  *prometheus.Desc
}

// NewConditions returns a collector that reads from a manager's cache once elected is closed.
func NewConditions(reader client.Reader, elected <-chan struct{}) *Conditions {
	return &Conditions{reader: reader, elected: elected, metric: prometheus.NewDesc("freshet_cluster_condition",
		"1 for the status that a condition of an HTAPCluster has, 0 for the others.", []string{"namespace", "name", "condition", "status"}, nil)}
}

// Describe implements [prometheus.Collector].
func (c *Conditions) Describe(out chan<- *prometheus.Desc) { out <- c.metric }

// Collect implements [prometheus.Collector].
func (c *Conditions) Collect(out chan<- prometheus.Metric) {
	select {
	case <-c.elected:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) // a collector is given none, and a cache answers at once
	defer cancel()
	var list v1alpha1.HTAPClusterList
	if err := c.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		out <- prometheus.NewInvalidMetric(c.metric, fmt.Errorf("list HTAPClusters: %w", err))
		return
	}
	for i := range list.Items {
		for _, condition := range list.Items[i].Status.Conditions {
			c.collect(out, &list.Items[i], condition)
		}
	}
}

func (c *Conditions) collect(out chan<- prometheus.Metric, of *v1alpha1.HTAPCluster, condition metav1.Condition) {
	for _, status := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown} {
		value := 0.0
		if condition.Status == status {
			value = 1
		}
		out <- prometheus.MustNewConstMetric(c.metric, prometheus.GaugeValue, value,
			of.Namespace, of.Name, condition.Type, strings.ToLower(string(status)))
	}
}
