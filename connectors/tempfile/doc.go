// Package tempfile provides files for what is too large for memory.
//
// Invariant: a file has no name, so that nothing stays behind, whatever happens, and nobody else can open it.
package tempfile
