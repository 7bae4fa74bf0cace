// Package kubectl runs the same kubectl commands on two servers and compares what the user sees: the output and the exit code.
//
// A script has one command per line, for bash. The file commands.txt has commands of kubectl, and series.txt those of holdfast series. The
// prefixes of a line:
//
//   - "#" is a comment.
//   - "!" is a command that prepares the server. It must succeed, and its output does not count.
//   - "~ reason |" is a command whose output differs for the given reason. Its exit code must be equal.
//   - "~~ reason |" is a command whose exit code differs, too.
//
// A command runs in a directory with the files of files/, one directory for each server. The variable SIDE has the name of the
// server, PORT a free port, and HOLDFAST the holdfast binary.
//
//	commands, err := kubectl.Commands("commands")
//	outcome := runner.Compare(ctx, commands[0])
//
// Times, UIDs and addresses are equal for the comparison, as are numbers of spaces.
package kubectl
