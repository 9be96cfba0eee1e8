package replica

import "github.com/ClickHouse/ch-go/proto"

// groupBits is how many row ids share a number of a mask: a power of two. The engine computes a look-up in numbers as wide as these: 64
// bits take a quarter longer than 32, while fewer bits mean more numbers to load into each mask.
const groupBits = 5

// deadRows is the set of the row ids of dead rows. It takes an eighth of a byte for each row id up to the highest dead one.
type deadRows struct {
	groups []uint32 // a bit for each row id, set if it is dead
	stale  bool     // the set differs from the mask that was loaded last
}

func (d *deadRows) add(rid uint32) {
	g := rid >> groupBits
	for int(g) >= len(d.groups) {
		d.groups = append(d.groups, 0)
	}
	d.groups[g] |= 1 << (rid % (1 << groupBits))
	d.stale = true
}

// remove takes row ids out of the set that are about to be given to other rows.
func (d *deadRows) remove(rids []uint32) {
	for _, rid := range rids {
		if g := int(rid >> groupBits); g < len(d.groups) {
			d.groups[g] &^= 1 << (rid % (1 << groupBits))
			d.stale = true
		}
	}
}

// marks are groups in the form of the table of deaths, which has the bits of rows that are alive: the condition that a query asks
// of each row is shorter, and every function in it takes the engine's planner a tenth of a millisecond.
type marks struct {
	group proto.ColUInt32
	alive proto.ColUInt32
}

func (m *marks) input() proto.Input {
	return proto.Input{{Name: "rows", Data: &m.group}, {Name: "alive", Data: &m.alive}}
}

// mark replaces m by all groups that have bits.
func (d *deadRows) mark(m *marks) {
	m.group, m.alive = m.group[:0], m.alive[:0]
	for g, dead := range d.groups {
		if dead != 0 {
			m.group, m.alive = append(m.group, uint32(g)), append(m.alive, ^dead)
		}
	}
}
