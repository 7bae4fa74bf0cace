// Package progress shows how far a plan is: as a tree that is drawn anew on a
// terminal, as lines of what changed anywhere else.
//
//	show := progress.New(os.Stdout)
//	err := show(status)
package progress
