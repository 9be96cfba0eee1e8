// Package clients runs the drivers that people use, unmodified, through the gateway: psql, pgbench, pgx, psycopg,
// SQLAlchemy, node-postgres and JDBC.
//
// Invariant: a driver's program prints the same on a connection to PostgreSQL and on one through the gateway.
package clients
