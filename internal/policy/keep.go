package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
)

// Kept are the rules no-delete of a source for one resource.
type Kept struct {
	Source
	Marks []immutability.Mark
	// Versions are the versions in which the API server sends objects to a guard, ["*"] for those of the requests.
	Versions []string
}

// keep adds the rules no-delete among marks.
func (t *Table) keep(name schema.GroupResource, from Source, marks []immutability.Mark, versions []string) {
	marks = slices.DeleteFunc(slices.Clone(marks), func(m immutability.Mark) bool { return !m.IsNoDelete() })
	if len(marks) > 0 {
		t.Kept[name] = append(t.Kept[name], Kept{Source: from, Marks: marks, Versions: versions})
	}
}

// Annotated returns the rules no-delete in the annotation of a definition. If the definition cannot be compiled, their conditions
// cannot be evaluated, and hold.
func Annotated(crd *definition.CustomResourceDefinition) Kept {
	marks, _ := crd.Marks()
	marks = slices.DeleteFunc(marks, func(m immutability.Mark) bool { return !m.IsNoDelete() })
	rules := DefinedRules{CRD: crd}
	if slices.ContainsFunc(marks, func(m immutability.Mark) bool { return m.While != "" }) {
		rules.compiled, _ = definition.CompileForReads(crd)
	}
	return Kept{Source: Source{Rules: rules}, Marks: marks}
}

// keepsFor reports whether a policy has a rule no-delete for a resource.
func (t *Table) keepsFor(name schema.GroupResource, policy string) bool {
	return slices.ContainsFunc(t.Kept[name], func(k Kept) bool { return k.Policy == policy })
}

// Deletion is a deletion of one object.
type Deletion struct {
	Object
	Namespace string
	// May reports whether the user has a verb on the object.
	May func(verb string) bool
}

// Verdict is what the rules no-delete of a source say about a deletion.
type Verdict struct {
	// Refused is the rule that forbids the deletion, nil if none does.
	Refused *immutability.Mark
	// Unclear says why the condition of Refused could not be evaluated. Such a rule holds.
	Unclear error
	// Verbs are those that let the user delete the object, although rules forbid it.
	Verbs []string
}

// Judge judges a deletion. labelsOf returns the labels of a namespace.
func (k Kept) Judge(ctx context.Context, d Deletion, labelsOf func(namespace string) (labels.Set, error)) (Verdict, error) {
	matches, err := k.Match.Matches(&Update{Namespace: d.Namespace, OldObj: d.Content, NewObj: d.Content}, labelsOf)
	if err != nil || !matches {
		return Verdict{}, err
	}
	var out Verdict
	for i, m := range k.Marks {
		// A deletion is the same in every version. A condition can be evaluated only in the versions of its rule.
		var unclear error
		switch {
		case m.While == "":
		case !m.In(d.Version):
			unclear = fmt.Errorf("it is about version %s", strings.Join(m.Versions, " and "))
		default:
			var holds bool
			if holds, unclear = k.Rules.Holds(ctx, d.Object, m.While); unclear == nil && !holds {
				continue
			}
		}
		if m.Unless == "" || !d.May(m.Unless) {
			return Verdict{Refused: &k.Marks[i], Unclear: unclear}, nil
		}
		if !slices.Contains(out.Verbs, m.Unless) {
			out.Verbs = append(out.Verbs, m.Unless)
		}
	}
	return out, nil
}
