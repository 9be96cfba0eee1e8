// Package pgwire is the one SQL endpoint: it speaks PostgreSQL's protocol to
// clients, relays every session to a PostgreSQL backend of its own, and offers
// read-only statements to the analytical route.
//
// Invariant: whatever is not answered by [Analytics] reaches PostgreSQL, and
// comes back from it, byte for byte. A client authenticates to PostgreSQL
// itself, or by package scram; the package never sees a password, never invents a
// result and never retries a statement that may have had an effect.
//
// # Read in this order
//
// A session has two goroutines (session.serve): clientLoop reads the client, serverLoop reads PostgreSQL and writes to
// the client. Both relay, and both follow the messages that pass by them.
//
//  1. clientloop.go: scanClient looks at each message from the client. One that it looks into goes to message, and from
//     there to query, parse, bind, portalMessage or sync (extended.go). Any other one, and one that is too long, goes
//     to streamed (streamed.go).
//  2. classify.go: the class of a statement is what its text tells. A simple query of a plain class is relayed at once
//     (pass), unless a columnar snapshot, freshet.route or a cursor makes it matter.
//  3. extended.go: bind holds the execution of a statement that may matter, until its Sync has come. If other messages
//     come first, attendWithin decides.
//  4. attend.go: attend takes what was not relayed. It waits until PostgreSQL has answered everything (awaitQuiet).
//     Then it relays the execution, rejects it, offers it, or has it read on from a result that is there (readOn).
//  5. offer.go: offer relays what the session knows by itself to be PostgreSQL's. For the rest it acquires the backend,
//     so that serverLoop pauses (backend.go). prepareOffer asks PostgreSQL in one round trip for the session's settings
//     and the statement's description, as far as they are not known; finishPrepare reads the answers. decide turns the
//     execution down, or has run.run answer it. Then the backend is handed back (handBack), and PostgreSQL gets what
//     was turned down and not refused.
//  6. run.go: run.run pins the block's snapshot if there is a block, has [Analytics] plan the statement, and sends the
//     rows to the client.
//
// What they rely on: flow.go says what PostgreSQL still owes, validity.go how far the known settings (info.go) can be
// relied on, block.go who may read in the open block. portal.go, cursor.go and declare.go have results that a client
// reads in pieces. Where a function returns dealtWith, true means that the message or execution at hand needs nothing
// more: the caller leaves it alone.
package pgwire
