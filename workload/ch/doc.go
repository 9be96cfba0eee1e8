// Package ch is the CH-benCHmark: TPC-C's nine tables and five transactions, the three tables that
// TPC-H adds, and the analytical queries that run beside the transactions.
//
// It talks to databases by PostgreSQL's protocol only, so that the same code measures PostgreSQL itself
// and a gateway in front of it.
//
// Invariant: a seed and a number of warehouses determine the loaded data, byte for byte; the history key
// and nothing else is left to the database.
package ch
