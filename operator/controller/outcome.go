package controller

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"holdfast.dev/holdfast/operator/plan"
)

// fatalError is one that trying again does not mend.
type fatalError struct{ error }

// Unwrap makes the cause known to errors.Is.
func (e fatalError) Unwrap() error { return e.error }

func fatalf(format string, args ...any) error { return fatalError{fmt.Errorf(format, args...)} }

func isFatal(err error) bool {
	var fatal fatalError
	return errors.As(err, &fatal)
}

// waitingError is no error: something is done, but for what others must do.
type waitingError struct{ error }

func waiting(format string, args ...any) error { return waitingError{fmt.Errorf(format, args...)} }

// outcome is what an error means to a step.
func outcome(err error) plan.Outcome {
	var wait waitingError
	switch {
	case err == nil:
		return plan.Done()
	case isFatal(err):
		return plan.Fatal(err)
	case errors.As(err, &wait):
		return plan.Waiting(err.Error())
	}
	return plan.Failed(err)
}

// judged makes the answer of a server fatal if the same request gets the same
// answer each time.
func judged(err error) error {
	if denied(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err) ||
		apierrors.IsRequestEntityTooLargeError(err) {
		return fatalError{err}
	}
	return err
}

// denied says that somebody may not do what they asked for. A quota that is used
// up is another matter: it can be free again.
func denied(err error) bool {
	return apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "exceeded quota")
}
