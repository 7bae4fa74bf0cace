package controller

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"holdfast.dev/holdfast/internal/operator/plan"
)

// fatalError is an error that ends the run, because a retry would fail in the same way.
type fatalError struct{ error }

// Unwrap returns the cause, for errors.Is and errors.As.
func (e fatalError) Unwrap() error { return e.error }

func fatalf(format string, args ...any) error { return fatalError{fmt.Errorf(format, args...)} }

func isFatal(err error) bool {
	var fatal fatalError
	return errors.As(err, &fatal)
}

// waitingError means that nothing failed, but that another controller has to act first.
type waitingError struct{ error }

func waiting(format string, args ...any) error { return waitingError{fmt.Errorf(format, args...)} }

// outcome converts the error of a step to its outcome.
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

// fatalIfPermanent makes the error of a request fatal if the server would answer the same
// request with the same error again.
func fatalIfPermanent(err error) error {
	if denied(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err) ||
		apierrors.IsRequestEntityTooLargeError(err) {
		return fatalError{err}
	}
	return err
}

// denied reports whether an error means that the user is not allowed to make the request.
// A quota and a namespace that is being deleted are answered with a Forbidden error too, but
// denied returns false for them: the quota may have room later, and the namespace may be
// created again.
func denied(err error) bool {
	if !apierrors.IsForbidden(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return false
	}
	for _, passing := range []string{"exceeded quota", "status unknown for quota", "failed quota"} {
		if strings.Contains(err.Error(), passing) {
			return false
		}
	}
	return true
}
