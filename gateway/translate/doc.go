// Package translate turns PostgreSQL's analytical SQL into the columnar
// engine's SQL, from the syntax tree of PostgreSQL's own parser.
//
// Invariant: a statement is translated only if the engine's answer, finished by
// package finish, equals PostgreSQL's on the same rows: values, scale, NULLs and
// the order that ORDER BY asks for. Whatever is not handled explicitly is
// [Unsupported]. What depends on data (overflow, division by zero, values outside the
// range in which the engine's functions are exact) is guarded: the engine
// raises an exception that finish.IsGuard recognises, and PostgreSQL answers instead.
package translate
