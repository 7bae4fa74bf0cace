package controller

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// FirstRetry is for tests.
const FirstRetry = firstRetry

// Readiness is what a plan makes of an object that it applied, in words: "" when it
// is ready, else whether it waits, tries again or gives up, and why.
func Readiness(config Config, object *unstructured.Unstructured) string {
	e := &execution{controller: &controller{unattended: config.Unattended}}
	err := e.ready(object)
	var wait waitingError
	switch {
	case err == nil:
		return ""
	case isFatal(err):
		return "fatal: " + err.Error()
	case errors.As(err, &wait):
		return "waiting: " + err.Error()
	}
	return "error: " + err.Error()
}
