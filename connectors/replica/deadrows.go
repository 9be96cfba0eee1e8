package replica

import "github.com/ClickHouse/ch-go/proto"

// groupBits is how many row ids share a number of a mask: a power of two.
const groupBits = 6

// deadRows is the set of the row ids of dead rows. It takes an eighth of a byte for each row id up to the highest dead one.
type deadRows struct {
	groups []uint64 // a bit for each row id
	fresh  []uint32 // groups that got bits since they were last taken
	stale  bool     // the set differs from the mask that was loaded last
}

func (d *deadRows) add(rid uint32) {
	g := rid >> groupBits
	for int(g) >= len(d.groups) {
		d.groups = append(d.groups, 0)
	}
	d.groups[g] |= 1 << (rid % (1 << groupBits))
	d.stale = true
	if n := len(d.fresh); n == 0 || d.fresh[n-1] != g {
		d.fresh = append(d.fresh, g)
	}
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

// marks are groups in the form of the table of deaths.
type marks struct {
	group proto.ColUInt32
	dead  proto.ColUInt64
}

func (m *marks) input() proto.Input {
	return proto.Input{{Name: "rows", Data: &m.group}, {Name: "dead", Data: &m.dead}}
}

func (m *marks) reset() { m.group, m.dead = m.group[:0], m.dead[:0] }

// takeFresh replaces m by the groups that got bits.
func (d *deadRows) takeFresh(m *marks) {
	m.reset()
	for _, g := range d.fresh {
		m.group, m.dead = append(m.group, g), append(m.dead, d.groups[g])
	}
	d.fresh = d.fresh[:0]
}

// takeAll replaces m by all groups that have bits.
func (d *deadRows) takeAll(m *marks) {
	m.reset()
	for g, dead := range d.groups {
		if dead != 0 {
			m.group, m.dead = append(m.group, uint32(g)), append(m.dead, dead)
		}
	}
	d.fresh = d.fresh[:0]
}
