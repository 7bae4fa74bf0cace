package live

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"holdfast.dev/holdfast/internal/cli/plan"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/value"
)

// maxMessage is the number of characters of a message of the server. Kubernetes writes whole
// objects into some.
const maxMessage = 300

// reasonsOf returns the reasons in the answer of a server. may reports whether the user has a verb.
func reasonsOf(err error, may func(verb string) bool) []finding.Finding {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
		return []finding.Finding{{Rule: plan.InvalidRule, Severity: finding.Error, Message: value.Cut(err.Error(), maxMessage)}}
	}
	var found []finding.Finding
	for _, cause := range status.Status().Details.Causes {
		f := finding.Finding{
			Rule: plan.InvalidRule, Severity: finding.Error, Message: cause.Message,
			// Server-side apply writes a dot before the first name.
			Path: strings.TrimPrefix(cause.Field, "."),
		}
		if f.Path == "<nil>" {
			f.Path = ""
		}
		if strings.Contains(cause.Message, "immutable") || cause.Type == "FieldImmutable" {
			f.Rule = plan.ImmutableRule
			f.Fix = plan.WithConditions(f, func(verb string) bool { return !may(verb) })
		}
		f.Message = value.Cut(f.Message, maxMessage)
		known := func(other finding.Finding) bool { return other.Path == f.Path && other.Message == f.Message }
		if !slices.ContainsFunc(found, known) {
			found = append(found, f)
		}
	}
	return found
}

// isRefusal reports whether an error is the decision of the server about the object: a client
// error other than those of authentication, of the authorizer, and of limits.
func isRefusal(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || isUndecided(err) {
		return false
	}
	switch status.Status().Code {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusConflict, http.StatusUnprocessableEntity,
		http.StatusRequestEntityTooLarge:
		return true
	}
	return false
}

// isUndecided reports whether the server did not decide about the object because the client
// may not send the request, or because a webhook may not run in a dry run.
func isUndecided(err error) bool {
	text := err.Error()
	switch {
	case apierrors.IsForbidden(err):
		return strings.Contains(text, " cannot patch resource ") || strings.Contains(text, " cannot create resource ")
	case apierrors.IsBadRequest(err):
		return strings.Contains(text, "does not support dry run")
	}
	return false
}
