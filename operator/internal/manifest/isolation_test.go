package manifest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

func TestUnits_stayOffTheNodesOfADatabase(t *testing.T) {
	off := func(labels map[string]string) *corev1.Affinity {
		return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{LabelSelector: &metav1.LabelSelector{MatchLabels: labels}, TopologyKey: "kubernetes.io/hostname"},
		}}}
	}
	own := map[string]string{"freshet.io/cluster": "shop", "freshet.io/component": "oltp"}
	for _, tc := range []struct {
		name string
		oltp v1alpha1.OLTPSpec
		mode v1alpha1.IsolationMode
		want *corev1.Affinity
	}{
		{"shared", v1alpha1.OLTPSpec{Engine: v1alpha1.EnginePostgreSQL, PostgreSQL: &v1alpha1.PostgreSQLSpec{}}, v1alpha1.IsolationShared, nil},
		{"of before there were modes", v1alpha1.OLTPSpec{Engine: v1alpha1.EnginePostgreSQL, PostgreSQL: &v1alpha1.PostgreSQLSpec{}}, "", nil},
		{"builtin", v1alpha1.OLTPSpec{Engine: v1alpha1.EnginePostgreSQL, PostgreSQL: &v1alpha1.PostgreSQLSpec{}}, v1alpha1.IsolationDedicated, off(own)},
		{"CockroachDB", v1alpha1.OLTPSpec{Engine: v1alpha1.EngineCockroachDB, CockroachDB: &v1alpha1.CockroachDBSpec{}}, v1alpha1.IsolationDedicated, off(own)},
		{
			"CloudNativePG", v1alpha1.OLTPSpec{Engine: v1alpha1.EnginePostgreSQL, PostgreSQL: &v1alpha1.PostgreSQLSpec{Provider: v1alpha1.CloudNativePG}},
			v1alpha1.IsolationDedicated, off(map[string]string{"cnpg.io/cluster": "shop-oltp"}),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := shop(tc.oltp)
			c.Spec.Isolation.Mode = tc.mode
			if diff := cmp.Diff(tc.want, c.Units().Spec.Template.Spec.Affinity); diff != "" {
				t.Errorf("affinity (-want +got):\n%s", diff)
			}
		})
	}
}
