package replica

import (
	"testing"

	"github.com/freshet-io/freshet/connectors/replica/lineage"
)

// Looking for steady columns reads all of a table: it has to end where it leads to nothing.
func TestSchooling_looksAgainLessAndLessOften(t *testing.T) {
	var s schooling
	var l lineage.Lineage
	looked := []int{}
	for base := range 1000 {
		if s.learns(&l, uint32(base)) {
			looked = append(looked, base)
			s.failed()
		}
		s.rebased(&l, uint32(base))
	}
	if want := 6; len(looked) != want { // at bases 0, 32, 96, 224, 480 and 992
		t.Errorf("looked for steady columns at bases %v, want %d times", looked, want)
	}
}

func TestSchooling_looksAgainWhenBasesDoNotStayWhole(t *testing.T) {
	var s schooling
	var l lineage.Lineage
	if !s.learns(&l, 1) {
		t.Fatal("does not look for the steady columns of a table that it knows nothing about")
	}
	l.Follow([]int{0}, 1)
	for base := range uint32(10) {
		if s.learns(&l, base+1) {
			t.Fatalf("looks again at base %d though all stayed whole", base+1)
		}
		s.rebased(&l, base+1)
	}
	l.Died(20, 1)
	s.rebased(&l, 11)
	if s.learns(&l, 11) {
		t.Error("looks again after one base that did not stay whole")
	}
	l.Died(21, 2)
	s.rebased(&l, 20)
	l.Died(22, 3)
	if !s.learns(&l, 21) {
		t.Error("does not look again after several bases that did not stay whole")
	}
	s.busy = true
	if s.learns(&l, 21) {
		t.Error("looks again though it is about it")
	}
}

func TestSchooling_leavesTablesAloneFromWhichRowsAreDeleted(t *testing.T) {
	s := schooling{deletedAt: 7}
	var l lineage.Lineage
	if s.learns(&l, 6) {
		t.Error("looks for steady columns after a row was deleted")
	}
	if !s.learns(&l, 7) {
		t.Error("does not look for them though no row was deleted since the base was built")
	}
}
