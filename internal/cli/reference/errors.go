package reference

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const invalid = "The object breaks the schema, a CEL rule or a rule of its kind, or changes a field that is immutable in a " +
	"built-in kind. `details.causes` has one entry for each field. An edit of a field that `kubectl apply` owns, and a JSON patch that does not " +
	"apply to the object, have this code too."

// apiErrors describes the functions of k8s.io/apimachinery that make errors of the API: status
// code, reason, and when the server answers with it.
var apiErrors = map[string][]string{
	"NewBadRequest": {"400", "BadRequest", "The body or a query parameter is malformed, a value has the wrong type, or a marker forbids the " +
		"change (`--immutability-status` sets another code for markers)."},
	"NewForbidden": {"403", "Forbidden", "RBAC, an admission plugin, a quota or a LimitRange does not allow the request. The namespace may be " +
		"terminating."},
	"NewNotFound":           {"404", "NotFound", "The object, its namespace or its kind does not exist."},
	"NewMethodNotSupported": {"405", "MethodNotAllowed", "The resource does not have this verb."},
	"NewAlreadyExists":      {"409", "AlreadyExists", "An object with this name exists."},
	"NewConflict": {"409", "Conflict", "The object has changed since the client read it, or server-side apply would take a field from another " +
		"manager. Read the object again and retry."},
	"NewGone":            {"410", "Gone", "The resource is gone."},
	"NewResourceExpired": {"410", "Expired", "The resourceVersion or the continue token is older than the history. List again."},
	"NewRequestEntityTooLargeError": {
		"413", "RequestEntityTooLarge", "The body is larger than the limit.",
	},
	"NewInvalid": {"422", "Invalid", invalid},
	// The write of a custom resource answers so to a JSON patch that does not apply to the object.
	"NewGenericServerResponse": {"422", "Invalid", invalid},
	"NewTooManyRequests":       {"429", "TooManyRequests", "The server or the user has too many requests at a time. Wait for `Retry-After`."},
	"NewTooManyRequestsError":  {"429", "TooManyRequests", "The server or the user has too many requests at a time. Wait for `Retry-After`."},
	"NewInternalError":         {"500", "InternalError", "The server failed. Its log has the cause."},
	"NewServiceUnavailable":    {"503", "ServiceUnavailable", "The server, a webhook, a kubelet or an aggregated server is not ready. Retry."},
	"NewServerTimeout":         {"500", "ServerTimeout", "The operation did not end in time. Retry."},
	"NewTimeoutError":          {"504", "Timeout", "The request did not end in time. The write may have happened."},
	"NewUnauthorized":          {"401", "Unauthorized", "The credential is missing, not valid, expired or revoked."},
}

// writeErrors writes the table of the errors that the source makes. An error without a
// description is an error.
func writeErrors(page *strings.Builder, used []constant) error {
	rows := map[string][]string{}
	for _, e := range used {
		found, ok := apiErrors[e.value]
		if !ok {
			return fmt.Errorf("%s uses apierrors.%s, which package cli/reference does not describe: add it to apiErrors", e.folder, e.value)
		}
		rows[found[0]+found[1]] = []string{code(found[0]), code(found[1]), found[2]}
	}
	page.WriteString("\n## Reasons of errors\n\nThe `reason` of a Status, with its HTTP status code. The libraries of Kubernetes answer with " +
		"`Unauthorized` (401), `AlreadyExists` (409) and `UnsupportedMediaType` (415) as well. A body that arrives too slowly is answered with " +
		"`Timeout` (408), and a kubelet that cannot be reached with 502.\n")
	var sorted [][]string
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		sorted = append(sorted, rows[key])
	}
	writeTable(page, []string{"code", "reason", "when"}, sorted)
	return nil
}
