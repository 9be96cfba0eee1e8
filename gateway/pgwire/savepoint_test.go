package pgwire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// unit is messages and a Sync.
func unit(messages ...message) step { return say(1, append(messages, sync1)...) }

// reading binds a portal to a read of the replica's, and begins to read it.
func reading(portal string) []message {
	return []message{bind(portal, "rows", nil), execute(portal, 2)}
}

// extended is a statement by the extended protocol, in a portal of its own.
func extended(sql string) []message {
	return []message{parse("once", sql), bind("once", "once", nil), execute("once", 0), closing('P', "once"), closing('S', "once")}
}

// beginReading begins a block that reads from the replica, in which a statement "rows" is prepared.
func beginReading(mode string) []step {
	return append(askMany("BEGIN "+mode+" READ ONLY", read), unit(parse("rows", series)))
}

var modes = []string{"ISOLATION LEVEL READ COMMITTED", "ISOLATION LEVEL REPEATABLE READ"}

// A portal that reads from the replica ends where a rollback to a savepoint ends PostgreSQL's, and nowhere else.
func TestSession_endsPortalsWithTheirSavepoints(t *testing.T) {
	b := newBed(t)
	p, q, onP := unit(reading("p")...), unit(reading("q")...), unit(execute("p", 1))
	for name, steps := range map[string][]step{
		"behind the savepoint":  {ask("SAVEPOINT s"), p, ask("ROLLBACK TO s"), onP, ask("ROLLBACK TO s"), p, onP},
		"bound anew":            {ask("SAVEPOINT s"), p, ask("ROLLBACK TO s"), p, onP, ask("ROLLBACK TO s"), onP},
		"before the savepoint":  {p, ask("SAVEPOINT s"), onP, q, ask("ROLLBACK TO s"), onP, unit(execute("q", 1))},
		"released":              {ask("SAVEPOINT s"), p, ask("RELEASE s"), onP},
		"released into another": {ask("SAVEPOINT a"), ask("SAVEPOINT s"), p, ask("RELEASE s"), ask("ROLLBACK TO a"), onP},
		"between two":           {ask("SAVEPOINT a"), p, ask("SAVEPOINT b"), q, ask("ROLLBACK TO b"), onP, unit(execute("q", 1)), ask("ROLLBACK TO b"), ask("ROLLBACK TO a"), onP},
		"of one name":           {ask("SAVEPOINT s"), p, ask("SAVEPOINT s"), q, ask("ROLLBACK TO s"), onP, ask("RELEASE s"), ask("ROLLBACK TO s"), onP},
		"behind an error":       {ask("SAVEPOINT s"), p, ask("SELECT 1/0"), onP, ask("ROLLBACK TO s"), onP},
		"an error behind it":    {ask("SAVEPOINT s"), p, ask("ROLLBACK TO s"), ask("SELECT 1/0"), onP, ask("ROLLBACK TO s"), p, onP},
		"no such savepoint":     {ask("SAVEPOINT s"), p, ask("ROLLBACK TO t"), onP, ask("ROLLBACK TO s"), onP},
		"extended":              {unit(extended("SAVEPOINT s")...), p, unit(extended("ROLLBACK TO s")...), onP, unit(extended("ROLLBACK TO s")...), p},
		"in one unit":           {unit(append(append(append(extended("SAVEPOINT s"), reading("p")...), extended("ROLLBACK TO s")...), execute("p", 1))...)},
		"without a name":        {ask("SAVEPOINT s"), unit(append(append(reading(""), extended("ROLLBACK TO s")...), execute("", 1))...)},
		"reverted within": {p, ask("SAVEPOINT s"), ask("SELECT 1/0"), unit(append(extended("ROLLBACK TO s"), reading("p")...)...),
			unit(append(extended("ROLLBACK TO s"), describe('P', "p"), execute("p", 1))...)},
		"read behind a rollback": {ask("SAVEPOINT s"), unit(append(extended("ROLLBACK TO s"), extended(read)...)...), unit(extended(read)...)},
		"behind an end that is refused": {p, ask("SAVEPOINT s"), unit(parse("end", "SELECT 1")), ask("SELECT 1/0"), unit(parse("end", "COMMIT"), bind("end", "end", nil), execute("end", 0)),
			ask("ROLLBACK TO s"), onP},
		"behind an end that is skipped": {p, ask("SAVEPOINT s"), unit(append(extended("SELECT 1/0"), extended("COMMIT")...)...), ask("ROLLBACK TO s"), onP},
		"described":                     {ask("SAVEPOINT s"), p, ask("ROLLBACK TO s"), unit(describe('P', "p"))},
		"bound long before": {unit(parse("back", "ROLLBACK TO s"), bind("back", "back", nil), parse("save", "SAVEPOINT s"), bind("save", "save", nil)),
			p, unit(execute("save", 0)), q, unit(execute("back", 0)), onP, unit(execute("q", 1))},
		"next block": {ask("SAVEPOINT s"), p, ask("COMMIT"), onP, ask("BEGIN READ ONLY"), p, ask("SAVEPOINT s"), ask("ROLLBACK TO s"), onP},
	} {
		for _, mode := range modes {
			t.Run(name+" "+mode, func(t *testing.T) {
				sameAsPostgreSQL(t, b, append(beginReading(mode), steps...))
			})
		}
	}
}

// What of several statements in one text was run is not known, nor what a long message says: no row comes that PostgreSQL would not give. (Beside the snapshot
// of a REPEATABLE READ block such messages are refused.)
func TestSession_readsNoPortalBehindWhatItDoesNotFollow(t *testing.T) {
	b := newBed(t)
	p, onP := unit(reading("p")...), unit(execute("p", 1))
	for name, steps := range map[string][]step{
		"a rollback among others": {ask("SAVEPOINT s"), p, ask("SELECT 2; ROLLBACK TO s; SELECT 3"), onP},
		"savepoint of several":    {ask("SAVEPOINT a; SAVEPOINT s"), p, ask("ROLLBACK TO a"), onP},
		"long after":              {ask("SAVEPOINT s"), p, ask("ROLLBACK TO s"), ask("SELECT '" + strings.Repeat("z", 1<<21) + "'"), onP},
	} {
		t.Run(name, func(t *testing.T) { sameAsPostgreSQL(t, b, append(beginReading(modes[0]), steps...)) })
	}
}

// Whatever is done with savepoints and portals in a block, portals end as PostgreSQL's do.
func TestSession_endsAnyPortalAsPostgreSQLDoes(t *testing.T) {
	b := newBed(t)
	var parts [][]message
	var alone []step
	for _, portal := range []string{"p", "q"} {
		parts = append(parts, reading(portal), []message{execute(portal, 1)}, []message{execute(portal, 0)}, []message{describe('P', portal)})
		alone = append(alone, unit(closing('P', portal))) // behind an error it is skipped, and the gateway forgets the portal all the same
	}
	queries := []string{read, "SELECT 1/0", "COMMIT", "ROLLBACK", "BEGIN READ ONLY"}
	for _, savepoint := range []string{"a", "b"} {
		queries = append(queries, "SAVEPOINT "+savepoint, "ROLLBACK TO "+savepoint, "RELEASE "+savepoint)
	}
	for _, sql := range queries {
		alone = append(alone, ask(sql))
		// The portal without a name is not executed alone: behind a simple query that fails, PostgreSQL reads there what it has freed.
		parts = append(parts, extended(sql), append(append(reading(""), extended(sql)...), execute("", 1)))
	}
	rapid.Check(t, func(r *rapid.T) {
		steps := beginReading(rapid.SampledFrom(modes).Draw(r, "mode"))
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			if rapid.Bool().Draw(r, "is alone") {
				steps = append(steps, rapid.SampledFrom(alone).Draw(r, "alone"))
				continue
			}
			var messages []message
			for _, part := range rapid.SliceOfN(rapid.SampledFrom(parts), 1, 3).Draw(r, "unit") {
				messages = append(messages, part...)
			}
			steps = append(steps, unit(messages...))
		}
		if d := cmp.Diff(transcript(t, b.direct, steps), transcript(t, b.through, steps)); d != "" {
			var sent strings.Builder
			for i, s := range steps {
				fmt.Fprintf(&sent, "%d:", i)
				for _, m := range s.send {
					fmt.Fprintf(&sent, " %T%+v", m, m)
				}
				sent.WriteString("\n")
			}
			r.Fatalf("%sthrough the gateway (-PostgreSQL +gateway):\n%s", sent.String(), shorten(d))
		}
	})
}
