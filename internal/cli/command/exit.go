package command

import (
	"errors"
	"net/http"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// The exit codes of the commands of Holdfast. docs/reference/names.md has them from here.
const (
	// ExitDone is the code of a command that did what it was asked, and found nothing.
	ExitDone = 0
	// ExitRefused is the code of a command that found something, that refused or whose server refused what the user asked, or whose plan or
	// rollout failed or did not end in time.
	ExitRefused = 1
	// ExitUnable is the code if the command line is wrong, or if the command could not look: a file that it cannot read, no server, no such
	// object, no right to read.
	ExitUnable = 2
	// ExitInterrupted is the code if a signal ended a command before it was done. The commands that run until a signal ends them exit with 0.
	ExitInterrupted = 130
)

// Error is an error with an exit code. Without an error inside it has no message, because the command has printed all already.
type Error struct {
	error
	code int
}

// Error returns the message, which may be empty.
func (e Error) Error() string {
	if e.error == nil {
		return ""
	}
	return e.error.Error()
}

// Unwrap returns the error without the code.
func (e Error) Unwrap() error { return e.error }

// ExitCode returns the exit code of the process.
func (e Error) ExitCode() int { return e.code }

// Exit returns an error that has an exit code and no message, for a command that has printed all already.
func Exit(code int) error { return Error{nil, code} }

// Refused returns an error with the exit code 1, nil without an error.
func Refused(err error) error { return with(err, ExitRefused) }

// Unable returns an error with the exit code 2, for a command that writes and could not read what it needs: the answer of a server to a
// read would count as a refusal otherwise. An error with an exit code keeps it.
func Unable(err error) error {
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return err
	}
	return with(err, ExitUnable)
}

// Interrupted returns an error with the exit code 130, nil without an error.
func Interrupted(err error) error { return with(err, ExitInterrupted) }

func with(err error, code int) error {
	if err == nil {
		return nil
	}
	return Error{err, code}
}

// Code returns the exit code of the process for an error of a command.
func Code(cmd *cobra.Command, err error) int {
	var coded interface{ ExitCode() int }
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &coded):
		return coded.ExitCode()
	case errors.As(err, &status) && Writes(cmd) && isRefusal(status.Status().Code):
		return ExitRefused
	}
	return ExitUnable
}

// Coded returns the error of a command with its exit code, nil without an error.
func Coded(cmd *cobra.Command, err error) error {
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return err
	}
	return with(err, Code(cmd, err))
}

// isRefusal reports whether a server with this status has understood a request and refused it.
func isRefusal(status int32) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusNotFound, http.StatusTooManyRequests:
		return false
	}
	return status >= http.StatusBadRequest && status < http.StatusInternalServerError
}
