package pgwire

// longStart is how much is looked at of a message that is relayed as it comes: the names of a portal and a statement, and that statement's first word.
const longStart = 1 << 10

// streamed accounts for a message that is relayed without looking inside, of which it gets the start.
func (s *session) streamed(kind byte, start []byte) error {
	if s.block.doubted {
		s.dropMarked(0)
	}
	switch kind {
	case 'P':
		return s.streamedParse(start)
	case 'B':
		return s.streamedBind(start)
	case 'd', 'c', 'f', 'X':
	case 'Q', 'F':
		if s.block.columnar {
			return s.endColumnar()
		}
		s.release()
		s.noteRelayed(&unknownClass)
		s.dropPortals()
		s.sentQuery(kind)
		return nil
	default:
		if err := s.letGo(); err != nil {
			return err
		}
	}
	if kind == 'S' {
		s.unit.reset()
	}
	s.flow.sent(kind)
	return nil
}

// streamedParse remembers the statement of a Parse by its first word.
func (s *session) streamedParse(start []byte) error {
	if err := s.letGo(); err != nil {
		return err
	}
	s.parses++
	s.unit.replies++
	name, ok := cString(&start)
	if !ok {
		s.statements.clear()
		s.statements.unnamed = true
		return nil
	}
	s.statements.add(&prepared{name: string(name), class: s.classifyLong(string(start)), parse: s.parses, errors: s.flow.errorCount()})
	return nil
}

// streamedBind accounts for what PostgreSQL is about to execute.
func (s *session) streamedBind(start []byte) error {
	c := &unknownClass
	name, ok := cString(&start)
	portal := string(name) // what start views moves on
	if statement, whole := cString(&start); !ok {
		s.dropPortals()
	} else {
		s.dropPortal(portal)
		if p := s.statements.byName[string(statement)]; whole && p != nil {
			c = s.relaxed(p.class)
		}
	}
	if s.beside(c) {
		return s.endColumnar()
	}
	if err := s.letGo(); err != nil {
		return err
	}
	s.noteBound(c, portal)
	return nil
}

// classifyLong returns the class of one statement, of which the start is known.
func (s *session) classifyLong(start string) *class {
	rest, _ := skipBlanks(start)
	word := firstWord(rest)
	if _, known := keywordClasses[word]; known && len(word) < len(rest) {
		return s.classifyOne(start)
	}
	c := unknownClass
	if isQuery(word) {
		c.word, c.forgets, c.ends = word, false, false
	}
	return &c
}
