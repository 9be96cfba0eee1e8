package lineage

// Digests holds a digest of the steady columns for each row of all tables, by row
// id; those of one seed compare ([Lineage.Seed]). A digest has 48 bits: of 2.8e14 changes of a steady column one is missed,
// and only if it is the first in its table since the base was built. The zero value
// is empty. It is not safe for concurrent use.
type Digests struct{ chunks []*chunk }

const chunkRows = 1 << 12

// chunk takes six bytes a row, and no memory that the garbage collector would look into.
type chunk struct {
	low  [chunkRows]uint32
	high [chunkRows]uint16
}

// Set notes the digest of a row, of which the upper 48 bits count.
func (d *Digests) Set(rid uint32, digest uint64) {
	n := int(rid / chunkRows)
	for n >= len(d.chunks) {
		d.chunks = append(d.chunks, nil)
	}
	c := d.chunks[n]
	if c == nil {
		c = &chunk{}
		d.chunks[n] = c
	}
	digest = known(digest)
	c.low[rid%chunkRows], c.high[rid%chunkRows] = uint32(digest>>16), uint16(digest>>48)
}

// Same reports whether a row is known to have a digest.
func (d *Digests) Same(rid uint32, digest uint64) bool {
	n := int(rid / chunkRows)
	if n >= len(d.chunks) || d.chunks[n] == nil {
		return false
	}
	c, digest := d.chunks[n], known(digest)
	return c.low[rid%chunkRows] == uint32(digest>>16) && c.high[rid%chunkRows] == uint16(digest>>48)
}

// known makes a digest one that differs from that of a row that has none.
func known(digest uint64) uint64 {
	if digest>>16 == 0 {
		return 1 << 16
	}
	return digest
}
