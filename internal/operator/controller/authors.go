package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/operator/render"
)

// takingPart returns the parameters with values that take part in the objects of a template
// of a task.
func (e *execution) takingPart(task *api.Task, template string) ([]string, error) {
	names, err := e.referencesIn(template, e.version.Spec.Templates[template])
	if err != nil || task.Kind != api.ToggleTask || slices.Contains(names, task.Spec.Parameter) {
		return names, err
	}
	return append(slices.Clone(names), task.Spec.Parameter), nil
}

// referencesIn returns the parameters that can change the output of a template.
func (e *execution) referencesIn(template, source string) ([]string, error) {
	if names, found := e.references[source]; found {
		return names, nil
	}
	found, err := render.ReferencesIn(template, source)
	if err != nil {
		return nil, fatalError{err}
	}
	names := found.Names
	if found.All {
		names = e.allParameters()
	}
	if e.references == nil {
		e.references = map[string][]string{}
	}
	e.references[source] = names
	return names, nil
}

// allParameters returns the names of all parameters of the OperatorVersion.
func (e *execution) allParameters() []string { return slices.Sorted(maps.Keys(e.params)) }

// author is a user other than the requester, with the parameters that it set.
type author struct {
	user       authorship.User
	parameters []string
}

// authorsOf returns the authors of some parameters, and the authors of the whole Instance,
// in a fixed order. The requester is not among them.
func (e *execution) authorsOf(parameters []string) []author {
	all := map[string]author{}
	requester := userKey(e.user.identity)
	for _, name := range append([]string{authorship.Whole}, parameters...) {
		for _, user := range e.users.Authors[name] {
			key := userKey(user)
			if key == requester {
				continue
			}
			known := all[key]
			all[key] = author{user, append(known.parameters, name)}
		}
	}
	var found []author
	for _, key := range slices.Sorted(maps.Keys(all)) {
		found = append(found, all[key])
	}
	return found
}

// attempt is a write of an object that is tried as another user.
type attempt struct {
	// verb says in messages what is done with the object.
	verb string
	// found is the stored object, nil if there is none.
	found *unstructured.Unstructured
}

const (
	applyVerb  = "apply"
	deleteVerb = "delete"
)

func application(found *unstructured.Unstructured) attempt { return attempt{applyVerb, found} }
func removal(found *unstructured.Unstructured) attempt     { return attempt{deleteVerb, found} }

// tryAsAuthors sends a write as a dry run as every author of a value that took part in the
// object. It returns a fatal error if one of them is not allowed to make the write, and any
// other error if it is not known whether they are.
func (e *execution) tryAsAuthors(ctx context.Context, object target, how attempt) error {
	var all []error
	for _, each := range e.authorsOf(object.parameters) {
		all = append(all, e.tryAs(ctx, each, object, how))
	}
	return errors.Join(all...)
}

// tryAs sends a write as a dry run as one author, once in a run.
func (e *execution) tryAs(ctx context.Context, as author, object target, how attempt) error {
	key, err := attemptKey(as.user, object, how)
	if err != nil || e.tried.passed[key] {
		return err
	}
	user, err := e.tried.writer(ctx, e.controller, as.user)
	if err == nil && how.verb == deleteVerb {
		err = user.delete(ctx, how.found, metav1.DryRunAll)
	} else if err == nil {
		_, err = user.apply(ctx, object.Unstructured, metav1.DryRunAll)
	}
	if dryRunUnsupported(err) {
		err = e.reviewAccess(ctx, as.user, object, how)
	}
	switch {
	case err == nil:
		e.tried.passed[key] = true
		return nil
	case denied(err) || isFatal(err):
		return e.refused(as, object, how, err)
	}
	return fmt.Errorf("%s: as user %s: %w", title(object.Unstructured), as.user.Username, err)
}

// dryRunUnsupported reports whether a dry run failed because an admission webhook has side
// effects.
func dryRunUnsupported(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run")
}

// refused returns the fatal error about an author that is not allowed to make a write.
func (e *execution) refused(as author, object target, how attempt, cause error) error {
	return fatalf("%s: user %q set %s and must be allowed to %s this object too: %w. To answer for the value instead, %s",
		title(object.Unstructured), as.user.Username, quoted(as.parameters), how.verb, cause, e.wayOut(as.parameters))
}

// quoted returns the names of parameters for a message.
func quoted(names []string) string {
	if i := slices.Index(names, authorship.Whole); i >= 0 {
		if names = slices.Delete(slices.Clone(names), i, i+1); len(names) == 0 {
			return "values of the instance that this instance is part of"
		}
	}
	return "parameter '" + strings.Join(names, "', '") + "'"
}

// wayOut returns the command with which a user takes over the values of an author. The value
// of a dependency is taken over where it was set.
func (e *execution) wayOut(names []string) string {
	for _, owner := range e.instance.OwnerReferences {
		if owner.Kind == "Instance" && owner.APIVersion == api.GroupVersion.String() {
			return fmt.Sprintf("run: holdfast kudo update %s --namespace %s --take-over NAME, with the parameter that sets it there",
				owner.Name, e.instance.Namespace)
		}
	}
	return fmt.Sprintf("run: holdfast kudo update %s --namespace %s --take-over %s",
		e.instance.Name, e.instance.Namespace, strings.Join(names, " --take-over "))
}
