// Package lineage tells which rows of a table are the same as they were when
// its base was built, as far as some columns are concerned.
//
// Most updates change a few columns of a table, always the same: a balance, a
// quantity, a state. Columns that updates leave alone are the table's steady
// columns. A row and its later versions, as long as they have the same values in
// all steady columns, are a line; it began in the epoch that bore the first of
// them. A query that reads steady columns only needs one version of each line,
// whichever. That of a line that is older than the base is in the base; so
// the query needs of the base all rows, without looking which ones are dead, and
// of the delta those whose line is younger than the base.
//
// Invariant: as long as [Lineage.Whole] holds for a base, its rows and the live
// rows of lines that began after it have, in the steady columns, exactly the
// values of the table's live rows.
package lineage
