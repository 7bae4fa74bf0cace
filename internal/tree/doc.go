// Package tree tests the source tree itself: the imports against the map in ARCHITECTURE.md, the links and the
// commands in the documents, and the list of commands in README.md. It has no code besides tests.
package tree
