// Package command is what all commands of Holdfast have in common: their exit codes, and the flags that have one name and one meaning
// everywhere.
//
//	var server command.Server
//	server.AddFlags(cmd.Flags())
//	return command.Refused(fmt.Errorf("%s is locked: unlock it first", name))
//
// A command returns an error as it is if it could not look: the exit code is then 2. It marks an error with Refused if it found
// something, or if the command or the server refused what the user asked: the exit code is then 1. Code returns the exit code of an error.
//
// A command that writes objects has the flag of DryRun, and one that reads or writes a server those of Server. The commands of kubectl keep
// the exit codes and the flags of kubectl.
package command
