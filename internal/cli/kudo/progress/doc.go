// Package progress shows the progress of a plan. On a terminal it draws a tree and redraws it
// with every status; elsewhere it prints a line for each change.
//
//	show := progress.New(os.Stdout)
//	err := show(status)
package progress
