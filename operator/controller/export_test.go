package controller

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Readiness returns "" if a plan does not wait for an applied object. Otherwise it returns
// the reason, after "waiting: ", "error: " (the plan retries) or "fatal: " (the plan fails).
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
