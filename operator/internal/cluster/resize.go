package cluster

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/freshet-io/freshet/operator/internal/cockroach"
)

// resize is a CockroachDB that has not the nodes that it is to have. What is to be done is read from it anew each time, so that it does not matter
// who began it.
type resize struct {
	// want and have are the numbers of pods; from leaving on they go, 0: none.
	want, have, leaving int32
	// nodes are those that are not decommissioned, by the number of their pod.
	nodes map[int32]cockroach.Node
}

// move is the next step of a resize.
type move int

const (
	addPods      move = iota // raise the number of pods
	beginLeaving             // write down from which number on nodes go
	decommission             // move the replicas of nodes that go
	keepNodes                // take nodes back that were to go
	removePods               // lower the number of pods, and end
)

// next is the step that a resize is at. Pods are added only when none goes, so that no new node finds the volume of one that is decommissioned.
func (z resize) next() move {
	switch {
	case z.leaving == 0 && z.want > z.have:
		return addPods
	case z.leaving == 0:
		return beginLeaving
	case z.mayReturn():
		return keepNodes
	case len(z.from(z.leaving)) > 0:
		return decommission
	}
	return removePods
}

// mayReturn says whether nodes that go are wanted again and can be kept. That is over once one of them is decommissioned, or drains for that.
func (z resize) mayReturn() bool {
	if z.want <= z.leaving || z.have <= z.leaving {
		return false
	}
	for number := z.leaving; number < z.have; number++ {
		if n, ok := z.nodes[number]; !ok || n.Draining {
			return false
		}
	}
	return true
}

// from returns the numbers of the pods with nodes from a number on.
func (z resize) from(first int32) []int32 {
	var numbers []int32
	for _, number := range slices.Sorted(maps.Keys(z.nodes)) {
		if number >= first {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// down returns the numbers of the pods whose nodes do not answer.
func (z resize) down() []int32 {
	return slices.DeleteFunc(z.from(0), func(number int32) bool { return z.nodes[number].Live })
}

// back returns the numbers of the pods with nodes that are to be taken back.
func (z resize) back() []int32 {
	return slices.DeleteFunc(z.from(z.leaving), func(number int32) bool { return number >= z.want || !z.nodes[number].Leaving })
}

// ids are CockroachDB's own numbers of nodes.
func (z resize) ids(numbers []int32) []int {
	var ids []int
	for _, number := range numbers {
		ids = append(ids, z.nodes[number].ID)
	}
	return ids
}

// replicas is how many replicas nodes hold.
func (z resize) replicas(numbers []int32) int {
	sum := 0
	for _, number := range numbers {
		sum += z.nodes[number].Replicas
	}
	return sum
}

// atMost rounds up to a power of two: each change of a status is a write.
func atMost(n int) int {
	if n == 0 {
		return 0
	}
	return 1 << bits.Len(uint(n-1))
}

// pods names pods, or their claims, by their numbers.
func pods(set string, numbers []int32) string {
	var names []string
	for _, number := range numbers {
		names = append(names, fmt.Sprintf("%s-%d", set, number))
	}
	return strings.Join(names, ", ")
}
