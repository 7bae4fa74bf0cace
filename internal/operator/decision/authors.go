package decision

import (
	"context"
	"errors"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/authorship"
)

// authors are the authors of the values that a write stores.
type authors struct {
	authorship.Authors
	// inherited means that the controller passed authors with the write, and takenOver
	// that the user of the write takes values over.
	inherited, takenOver bool
}

// written is an accepted write, with what is recorded about the stored Instance.
type written struct {
	// instance has the values that will be stored.
	instance *api.Instance
	// version is nil if the OperatorVersion does not exist.
	version *api.OperatorVersion
	past    past
}

// authors returns the authors of the values that will be stored.
func (r Review) authors(ctx context.Context, w written) (authors, error) {
	taken, err := api.TakenOver(r.New)
	if err != nil {
		return authors{}, err
	}
	passed, err := r.inherited(ctx, w.instance)
	if err != nil {
		return authors{}, err
	}
	defaults := map[string]string{}
	if w.version != nil {
		for _, definition := range w.version.Definitions().Definitions {
			if text, found := definition.DefaultText(); found {
				defaults[definition.Name] = text
			}
		}
	}
	all := authorship.Authors{}
	add := func(name string, users []authorship.User) {
		if len(users) > 0 {
			all[name] = users
		}
	}
	for name, value := range w.instance.Spec.Parameters {
		users := r.authorsOf(w.past, name, value, defaults)
		if kept := r.keeps(name, value); passed.covers(name, value) && (passed.fresh || !kept) {
			users = union(r.Requester, passed.Authors[name])
		} else if len(users) > 0 && passed.broken && !kept {
			users = union(r.Requester, []authorship.User{{}})
		} else if len(users) > 0 && slices.Contains(taken, name) {
			users = []authorship.User{r.Requester}
		}
		add(name, users)
	}
	add(authorship.Whole, passed.whole(w.past))
	return authors{Authors: all, inherited: passed.fresh, takenOver: len(taken) > 0}, nil
}

// authorsOf returns the authors of one value. A value that equals the default comes from
// the OperatorVersion, regardless of the client that may have sent it as well.
func (r Review) authorsOf(p past, name, value string, defaults map[string]string) []authorship.User {
	equals := func(values map[string]string) bool {
		other, found := values[name]
		return found && other == value
	}
	kept := r.keeps(name, value)
	switch {
	case equals(defaults):
		return nil
	case kept && p.known:
		return p.record.Authors[name]
	case equals(p.restored):
		return p.authors[name]
	case kept || r.Requester.IsSystem(r.Controller):
		return []authorship.User{{}}
	}
	return []authorship.User{r.Requester}
}

// keeps reports whether a parameter has the same value in the stored Instance.
func (r Review) keeps(name, value string) bool {
	if r.Old == nil {
		return false
	}
	stored, found := r.Old.Spec.Parameters[name]
	return found && stored == value
}

// inheritance holds the authors that the controller passes with an Instance that it applies.
type inheritance struct {
	authorship.Inherited
	// fresh means that they are new with this write. Otherwise an earlier write brought
	// them, and they count only for values that this write changes.
	fresh bool
	// broken means that the write brings authors that cannot be verified.
	broken bool
}

// inherited opens the authors that are passed with a write.
func (r Review) inherited(ctx context.Context, instance *api.Instance) (inheritance, error) {
	text, found := instance.Annotations[api.InheritedAuthorsAnnotation]
	if !found {
		return inheritance{}, nil
	}
	fresh := r.Old == nil || r.Old.Annotations[api.InheritedAuthorsAnnotation] != text
	opened, err := r.Keys.Inherited(ctx, instance, r.Requester.Username)
	if errors.Is(err, authorship.ErrUnverified) {
		// Writes by other users keep the annotation, which is not sealed for them.
		return inheritance{broken: fresh}, nil
	}
	return inheritance{Inherited: opened, fresh: fresh}, err
}

// covers reports whether the plan of another Instance sets a parameter to a value.
func (i inheritance) covers(name, value string) bool {
	applied, found := i.Values[name]
	return found && applied == value
}

// whole returns the authors of the Instance as a whole.
func (i inheritance) whole(p past) []authorship.User {
	switch {
	case i.broken:
		return []authorship.User{{}}
	case i.fresh:
		return i.Authors[authorship.Whole]
	}
	return p.record.Authors[authorship.Whole]
}

// union returns the users with the first one added, if it is not among them.
func union(first authorship.User, others []authorship.User) []authorship.User {
	all := []authorship.User{first}
	for _, user := range others {
		if !slices.ContainsFunc(all, func(known authorship.User) bool { return apiequality.Semantic.DeepEqual(known, user) }) {
			all = append(all, user)
		}
	}
	return all
}
