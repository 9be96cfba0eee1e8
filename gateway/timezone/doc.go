// Package timezone has the rules of time zones as the source database knows them. Two systems that look a zone up by its name may have rules of
// different years.
//
// Invariant: a [Zone] for which the engine is used has the same offsets there at every instant of its span.
package timezone
