// Package debezium is the change source for PostgreSQL whose changes come through Kafka: Debezium writes the rows of
// each table into a topic of its own and the bounds of transactions into another; this package puts the transactions
// together again and hands them over whole, in commit order. Definitions, copies and positions come from PostgreSQL
// itself, by the package postgres.
//
// # Transactions
//
// Debezium counts the rows of a transaction per table and numbers them (total_order). Rows of one transaction lie in several
// partitions of several topics, and a part of them is read after the END of their transaction. Therefore:
//
//   - The order of END messages in the transaction topic, which has one partition, is the order of commits.
//   - A row belongs to the transaction whose id stands before the colon of transaction.id; what follows the colon is
//     the row's own position in the log.
//   - A row belongs to the table that its message names: several tables may share a topic, and a topic's name may be another table's by now.
//   - A transaction is complete when for every table that END names the counted rows have been read, in all partitions.
//   - After a crash Connect delivers again what it had not recorded as delivered. Within a partition rows of a transaction come
//     in the order of their positions and numbers, so that one that is not after the last is a repetition, but for the rows of one
//     record: those are told apart by their order within it (see [run.lacks]). An END whose position is not
//     above the last is one too, and the rows of its transaction are dropped.
//
// Where it resumes inside a transaction, Debezium makes four things up (WalPositionLocator, PgOutputMessageDecoder and TransactionMonitor of
// its version 3.7), which have to be told from what happened:
//
//   - It goes on at the first message that has the position of the next change. So has the commit before, where the two records follow each
//     other in the log: the transaction is ended at that commit's position, and sent anew. An END counts only for the transaction
//     that ended there first.
//   - It reports the bounds of transactions that it passes on its way there, whose ENDs count no rows. An END counts no less than
//     those before it.
//   - It has then lost its own counters, begins the transaction a second time, numbers its rows from 1, and the END counts the rest
//     only. Such a transaction waits until all is read that was in the topics some time after the END.
//   - Where it had recorded a BEGIN last, it may leave out the first changes of that transaction, and neither send nor count them
//     (see [transaction.beheaded]). All tables are copied anew then, as they are before a transaction that follows one without an END.
//
// # Positions
//
// The id of an END message is "txid:lsn" with the end of the commit record as lsn, because PostgreSQL sends
// a commit message with that position. It is the same position that the direct stream gives a transaction, and
// comparable with an exported snapshot's and with pg_current_wal_insert_lsn().
//
// # Resumption
//
// A position is all that a replica keeps. The transaction topic is searched for it (positions rise but for
// repetitions), and all topics are read from a little before the time of what was found. The first END read
// must be at or before the position: if it is later, history is missing, and the stream ends with a
// [cdc.TerminalError]. So it does when rows that an END counted do not come although Connect has gone on since.
//
// Verified with Debezium 3.7.0.Final, Kafka 4.3.1 and PostgreSQL 18.
package debezium
