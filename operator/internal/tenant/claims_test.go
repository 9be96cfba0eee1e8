package tenant

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/freshet-io/freshet/gateway/freshness"
	"github.com/freshet-io/freshet/gateway/shares"
	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// made is a tenant that is so many seconds old.
func made(name string, age int, users ...v1alpha1.RoleName) v1alpha1.HTAPTenant {
	t := v1alpha1.HTAPTenant{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(int64(1000-age), 0)}}
	t.Spec.Users, t.Spec.Shares = users, 100
	return t
}

func TestJudge_givesAUserToTheOlderTenant(t *testing.T) {
	got := map[string]string{}
	for _, v := range judge([]v1alpha1.HTAPTenant{
		made("new", 1, "ann", "bob"), made("old", 9, "bob"), made("b", 5, "cid"), made("a", 5, "cid"), made("rest", 3), made("another-rest", 2), made("free", 0, "ann"),
	}) {
		got[v.tenant.Name] = v.reason + v.message
	}
	want := map[string]string{
		"old": "", "a": "", "rest": "", "free": "", // ann's claim by the tenant that is not accepted does not count
		"new":          `UserClaimeduser "bob" is in HTAPTenant "old", which is older; take it out of one of them`,
		"b":            `UserClaimeduser "cid" is in HTAPTenant "a", which is older; take it out of one of them`,
		"another-rest": `UserClaimedHTAPTenant "rest", which is older, is that of all users who are in no other; name users here, or there`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRender_writesWhatGatewaysRead(t *testing.T) {
	memory := resource.MustParse("1Gi")
	full := made("full", 1, "ann", "bob")
	full.Spec.Shares = 400
	full.Spec.Limits = v1alpha1.TenantLimits{Concurrency: 2, Queue: 3, Memory: &memory, Time: &metav1.Duration{Duration: 90 * time.Second}}
	full.Spec.Freshness = &v1alpha1.SessionFreshness{Mode: "eventual", MaxStaleness: metav1.Duration{Duration: time.Second}}
	content, err := render(judge([]v1alpha1.HTAPTenant{full, made("refused", 0, "bob"), made("rest", 2)}))
	if err != nil {
		t.Fatal(err)
	}
	table, err := shares.Parse(content)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, content)
	}
	want := &shares.Tenant{
		Name: "full", Users: []string{"ann", "bob"}, Shares: 400,
		Limits:    shares.Limits{Concurrency: 2, Queue: 3, Memory: 1 << 30, Time: 90 * time.Second},
		Freshness: &shares.Freshness{Mode: freshness.Eventual, MaxStaleness: new(time.Second)},
	}
	if diff := cmp.Diff(want, table.Of("bob")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := table.Of("stranger").Name; got != "rest" {
		t.Errorf("a stranger's tenant is %q", got)
	}
}

func TestRender_neverWritesMoreThanGatewaysTake(t *testing.T) {
	var many []v1alpha1.HTAPTenant
	for i := range shares.MaxTenants + 5 {
		many = append(many, made(fmt.Sprintf("t%d", i), i, v1alpha1.RoleName(fmt.Sprint("u", i))))
	}
	verdicts := judge(many)
	content, err := render(verdicts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shares.Parse(content); err != nil {
		t.Error(err)
	}
	if last := verdicts[len(verdicts)-1]; last.reason != ReasonTooManyTenants {
		t.Errorf("the newest of %d tenants is judged %q", len(many), last.reason)
	}
}
