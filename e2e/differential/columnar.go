package differential

import "context"

// Columnar is a way to the columnar route.
type Columnar interface {
	// Answer offers a statement that PostgreSQL has described to the columnar route. The error ends the run.
	Answer(ctx context.Context, st Statement) (Outcome, error)
}

// Outcome is what came of offering a statement to the columnar route.
type Outcome struct {
	// Columnar says that the columnar route gave the answer, not PostgreSQL behind a gateway.
	Columnar bool
	// Answer is nil where the columnar route refused and nothing stands behind it.
	Answer *Answer
	// Reason says why it did not: a construct that is not translated, or a guard.
	Reason string
	// Defect is an error of the engine that no guard foresaw. Its statement is relayed as well, but it
	// should have been refused or answered.
	Defect error
	// EngineSQL is what the engine was asked, where known.
	EngineSQL string
}
