// Package definitions tests that a change of definition which no row tells of never leads to an answer that mixes what
// was before it with what was after it: while queries race it, when it happens while the gateway is down, and in storms of
// changes of all kinds at random, after which the replica answers again and equals PostgreSQL. Histories of transactions
// that mix changes of rows and of definitions, with long values, partitions and subtransactions, leave all tables equal.
package definitions
