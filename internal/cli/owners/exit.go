package owners

import "errors"

// The exit codes of owners and transfer, besides 0.
const (
	// exitFound is the code if owners --stuck found something, or if transfer or the server refused a change.
	exitFound = 1
	// exitUnable is the code if the command line is wrong, or the command could not read what it needs, such as without a server.
	exitUnable = 2
)

// exitError is an error with an exit code. Without an error inside, it has no message.
type exitError struct {
	error
	code int
}

// Error returns the message, which may be empty.
func (e exitError) Error() string {
	if e.error == nil {
		return ""
	}
	return e.error.Error()
}

// Unwrap returns the error without the code.
func (e exitError) Unwrap() error { return e.error }

// ExitCode returns the exit code of the process.
func (e exitError) ExitCode() int { return e.code }

// unable returns the error of a command that could not look. An error that has an exit code keeps it.
func unable(err error) error {
	var coded exitError
	if err == nil || errors.As(err, &coded) {
		return err
	}
	return exitError{err, exitUnable}
}

// refusal returns the error of a command that the command itself or the server refused.
func refusal(err error) error { return exitError{err, exitFound} }
