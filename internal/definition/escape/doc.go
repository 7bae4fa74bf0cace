// Package escape finds ways around the markers and the CEL transition rules of a schema. An escape is a way to change a protected
// field in two writes, each of which is allowed: the first removes or empties the field or one above it, and the second sets it
// again.
//
//	for _, e := range escape.Find(s) {
//		warn(e.String())
//	}
//
// It understands the usual forms of CEL rules without running them, and ignores all others. The result is advice for the author
// of a definition; no write is judged by it.
package escape
