// Package datarow provides rows of a result in the form in which PostgreSQL's protocol sends them, so that they are written once, by whoever has
// their values, and copied to every client that reads them.
package datarow
