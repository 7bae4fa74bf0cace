package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// report collects the errors of one object. It holds the path of the value that is being checked, and creates a field.Path
// only for an error, so that valid objects need no paths.
//
// Each method that adds an error takes the rest of the path, relative to the current value: a string is a field, an int an
// index and a key a map key.
type report struct {
	at     []any // the path of the current value
	errs   field.ErrorList
	rules  *compiler // has the checks that the object is walked with
	create bool
	old    runtime.Object  // the object that an update replaces; nil on create
	oldPod *corev1.PodSpec // the spec of the pod, or of the pod template, in old
	pod    *corev1.PodSpec // the spec of the pod whose fields are being checked
	owner  *corev1.Pod     // the Pod that has the spec; nil for the spec in a pod template
}

// immutableOrigin is the origin of errors about fields that cannot change, as in Kubernetes. The server counts these refusals.
const immutableOrigin = "immutable"

// key is a map key in a path.
type key string

func (r *report) push(segment any) { r.at = append(r.at, segment) }

func (r *report) pop() { r.at = r.at[:len(r.at)-1] }

// under runs checks with rest added to the current path.
func (r *report) under(checks func(), rest ...any) {
	depth := len(r.at)
	r.at = append(r.at, rest...)
	checks()
	r.at = r.at[:depth]
}

// path returns the current path, followed by rest. It is nil at the root.
func (r *report) path(rest ...any) *field.Path {
	var path *field.Path
	for _, segments := range [][]any{r.at, rest} {
		for _, s := range segments {
			switch s := s.(type) {
			case string:
				path = path.Child(s)
			case int:
				path = path.Index(s)
			case key:
				path = path.Key(string(s))
			default:
				panic(fmt.Sprintf("rules: %T in a path", s))
			}
		}
	}
	return path
}

// hasErrors reports whether there are errors at or below a path.
func (r *report) hasErrors(rest ...any) bool {
	return len(r.errs) > 0 && slices.ContainsFunc(r.errs, isBelow(r.path(rest...)))
}

// forget removes the errors at or below a path: an update may keep what it does not change.
func (r *report) forget(rest ...any) { r.errs = slices.DeleteFunc(r.errs, isBelow(r.path(rest...))) }

func isBelow(path *field.Path) func(*field.Error) bool {
	text := path.String()
	return func(err *field.Error) bool {
		below, found := strings.CutPrefix(err.Field, text)
		return found && (below == "" || below[0] == '.' || below[0] == '[')
	}
}

// add adds errors from functions of k8s.io/apimachinery.
func (r *report) add(errs field.ErrorList) { r.errs = append(r.errs, sorted(errs)...) }

// sorted sorts consecutive errors with the same path. Some functions of k8s.io/apimachinery range over maps and return
// errors in random order.
func sorted(errs field.ErrorList) field.ErrorList {
	for i := 0; i < len(errs); {
		j := i + 1
		for j < len(errs) && errs[j].Field == errs[i].Field {
			j++
		}
		slices.SortStableFunc(errs[i:j], func(a, b *field.Error) int { return cmp.Compare(a.Error(), b.Error()) })
		i = j
	}
	return errs
}

// immutable refuses to change a field that cannot change.
func (r *report) immutable(value any, rest ...any) {
	r.errs = append(r.errs, field.Invalid(r.path(rest...), value, "field is immutable").WithOrigin(immutableOrigin))
}

// unchangeable refuses to change a field that cannot change, with words of Kubernetes for this field.
func (r *report) unchangeable(detail string, rest ...any) {
	r.errs = append(r.errs, field.Forbidden(r.path(rest...), detail).WithOrigin(immutableOrigin))
}

// unchangeableValue refuses a value that cannot change, with words of Kubernetes for this field.
func (r *report) unchangeableValue(value any, detail string, rest ...any) {
	r.errs = append(r.errs, field.Invalid(r.path(rest...), value, detail).WithOrigin(immutableOrigin))
}

func (r *report) required(detail string, rest ...any) {
	r.errs = append(r.errs, field.Required(r.path(rest...), detail))
}

func (r *report) invalid(value any, detail string, rest ...any) {
	r.errs = append(r.errs, field.Invalid(r.path(rest...), value, detail))
}

func (r *report) forbidden(detail string, rest ...any) {
	r.errs = append(r.errs, field.Forbidden(r.path(rest...), detail))
}

func (r *report) duplicate(value any, rest ...any) {
	r.errs = append(r.errs, field.Duplicate(r.path(rest...), value))
}

func (r *report) unsupported(value any, supported []string, rest ...any) {
	r.errs = append(r.errs, field.NotSupported(r.path(rest...), value, supported))
}

// invalidAll adds an error for each message. Validators of k8s.io/apimachinery return such lists of messages.
func (r *report) invalidAll(value any, messages []string, rest ...any) {
	for _, message := range messages {
		r.invalid(value, message, rest...)
	}
}
