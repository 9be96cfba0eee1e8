package debezium

import "time"

// beginning is what the last BEGIN of a transaction says.
type beginning struct {
	at    uint64    // the LSN of the transaction's first record
	after uint64    // the position of the END before
	sent  time.Time // by Connect's clock
}

// resumeGap is less than Debezium takes to resume.
const resumeGap = 500 * time.Millisecond

// beheaded reports whether a transaction may lack its first changes, though it has all that its END counts.
//
// What Debezium 3.7 records with a BEGIN is the position of the commit before. If it resumes from there, it goes on behind the first change that it
// finds at that position, as if that had been delivered: a change of the very transaction, whose record came right after that commit. It neither
// sends nor counts what comes up to that change. The transaction then began before that commit, its first change came after it, and between its BEGIN
// and that change lies the time in which Debezium resumed.
func (t *transaction) beheaded(end endEvent) bool {
	first, sent := t.first, t.firstSent
	if first == 0 {
		first, sent = end.position.Major, end.sent
	}
	b := t.beginning
	return t.begun && b.at < b.after && b.after < first && sent.Sub(b.sent) >= resumeGap
}
