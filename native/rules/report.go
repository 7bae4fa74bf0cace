package rules

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// report collects the violations of one object. It knows where the walk stands, and turns that into a field.Path only
// when there is something to say: a valid object costs no paths.
//
// The methods that add an error take the rest of the path relative to where the walk stands: a string is a field, an
// int an index, a key a map key.
type report struct {
	at     []any
	errs   field.ErrorList
	create bool
	old    runtime.Object // what an update replaces; nil on create
	claims []string       // volumes that a StatefulSet's controller adds to its pods
}

// key is a map key in a path.
type key string

func (r *report) push(segment any) { r.at = append(r.at, segment) }

func (r *report) pop() { r.at = r.at[:len(r.at)-1] }

// under runs checks further down the path.
func (r *report) under(checks func(), rest ...any) {
	depth := len(r.at)
	r.at = append(r.at, rest...)
	checks()
	r.at = r.at[:depth]
}

// path is where the walk stands, followed by rest; nil at the root.
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

// add takes over errors of Kubernetes' own helpers. Those range over maps; neighbours at one path are put in order.
func (r *report) add(errs field.ErrorList) {
	if len(errs) == 0 {
		return
	}
	for i := 0; i < len(errs); {
		j := i + 1
		for j < len(errs) && errs[j].Field == errs[i].Field {
			j++
		}
		slices.SortStableFunc(errs[i:j], func(a, b *field.Error) int { return cmp.Compare(a.Error(), b.Error()) })
		i = j
	}
	r.errs = append(r.errs, errs...)
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

// says turns each message of one of Kubernetes' string validators into an error.
func (r *report) says(value any, messages []string, rest ...any) {
	for _, message := range messages {
		r.invalid(value, message, rest...)
	}
}
