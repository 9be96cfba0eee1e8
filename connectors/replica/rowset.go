package replica

// rowSet is a set of row ids. It takes an eighth of a byte for each row id up to the highest that was ever in it. The zero value is empty.
type rowSet struct {
	words []uint64 // a bit for each row id
}

func (s *rowSet) add(rid uint32) {
	w := rid / 64
	for int(w) >= len(s.words) {
		s.words = append(s.words, 0)
	}
	s.words[w] |= 1 << (rid % 64)
}

func (s *rowSet) remove(rid uint32) {
	if w := int(rid / 64); w < len(s.words) {
		s.words[w] &^= 1 << (rid % 64)
	}
}

func (s *rowSet) has(rid uint32) bool {
	w := int(rid / 64)
	return w < len(s.words) && s.words[w]>>(rid%64)&1 != 0
}
