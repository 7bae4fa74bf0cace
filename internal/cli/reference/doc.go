// Package reference writes the reference of docs/reference from the code: the commands with their
// flags, and the names that users meet in objects, responses and metrics.
//
//	text := reference.Commands(cli.Commands())
//	text, err := reference.Names(os.DirFS("."))
//
// Commands reads the commands as they are built. Names reads the source: each row is a constant,
// a metric or an error in it, and the comment of that constant is the description.
package reference
