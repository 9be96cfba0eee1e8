// Package cdc is the change model that every source produces and every replica
// consumes: tables, rows, changes, transactions and positions.
//
// Invariant: a [Source] hands over complete transactions in commit order. A
// [Handler] never learns of a change before it can learn of every change that
// was committed before it.
package cdc
