// Package plan has plans: what happens to objects when a client applies files. `holdfast schema
// update` makes them from files alone, `holdfast diff --plan` for a live cluster.
//
// The outcome of an object is unchanged, created, updated in place, must be replaced, or
// refused. To replace an object is to delete it and to create the new one; the plan then says
// what is lost. A reason is an answer of the server or of an engine, with its place in a file.
//
//	plans = append(plans, plan.FromJudgement(judgement, object))
//	plan.Print(os.Stdout, plans)
//
// Package live, below this one, makes plans for a cluster.
package plan

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition/preview"
	"holdfast.dev/holdfast/internal/definition/refusal"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/internal/manifest"
	"holdfast.dev/holdfast/value"
)

// Unknown is the outcome of an object that could not be judged, besides those of package
// preview.
const Unknown preview.Outcome = "unknown"

// Plan is what happens to one object.
type Plan struct {
	// Object is kind and name. Namespace is empty if the object has none, or if it is not
	// known.
	Object, Namespace string
	Outcome           preview.Outcome
	// Reasons say why an object must be replaced, is refused, or could not be judged.
	Reasons []finding.Finding
	// Changes are the fields that an update in place changes.
	Changes []Change
	// Unchecked are versions with markers that need a conversion webhook.
	Unchecked []string
	// Notes say what the plan is based on, where that is not the answer of the server.
	Notes []string
	// Loss is what is lost if the object is replaced.
	Loss preview.Loss
	// Stay are the dependents that stay when the object is replaced. Adopted says that the new object becomes their owner.
	Stay    []preview.Child
	Adopted bool
	// Kept says why the server refuses to delete the object, empty if it does not.
	Kept string
}

// The rules of reasons.
const (
	ImmutableRule = "immutable-field"
	InvalidRule   = "invalid-value"
	WrongTypeRule = "wrong-type"
	DroppedRule   = "dropped-field"
)

// Rules are the rules of reasons, for formats that list them.
var Rules = []finding.Rule{
	{ID: ImmutableRule, Summary: "The update changes an immutable field."},
	{ID: InvalidRule, Summary: "The schema or one of its CEL rules refuses a value."},
	{ID: WrongTypeRule, Summary: "A value has the wrong type."},
	{ID: DroppedRule, Summary: "The schema does not specify the field, so the server drops it."},
}

// FromJudgement returns the plan for a custom resource that package preview has judged. object
// is the new object in its file; without a file, its document is nil. lacks reports whether the user is known not to have a verb; it may
// be nil.
func FromJudgement(j preview.Judgement, object manifest.Object, lacks func(verb string) bool) Plan {
	p := Plan{Object: NameOf(j.New), Outcome: j.Outcome, Unchecked: j.Unchecked}
	add := func(place string, f finding.Finding) {
		f.Object = p.Object
		if object.Document != nil {
			f.File, f.Position = object.File, object.Locate(place)
		}
		p.Reasons = append(p.Reasons, f)
	}
	for _, wrong := range j.WrongTypes {
		add(wrong.Path, finding.Finding{
			Rule: WrongTypeRule, Severity: finding.Error, Path: wrong.Path,
			Message: "must be of type " + wrong.Want + ", not " + wrong.Got,
		})
	}
	answer := refusal.Answer{Values: true}
	for _, v := range j.Refused {
		f := finding.Finding{
			Rule: ImmutableRule, Severity: finding.Error, Path: v.Path.String(), Message: answer.Message(v), Fix: v.Hint(),
		}
		f.Fix = WithConditions(f, lacks)
		add(placeOf(j.New, v.Violation), f)
	}
	for _, v := range j.Allowed {
		p.Override(answer.Override(v))
	}
	for _, err := range j.Invalid {
		add(err.Field, FromError(err))
	}
	for _, path := range j.Dropped {
		add(path, finding.Finding{
			Rule: DroppedRule, Severity: finding.Warning, Path: path,
			Message: "the schema does not specify this field: the server drops it",
		})
	}
	finding.Sort(p.Reasons)
	return p
}

// noField is the path of an error of Kubernetes that is about the whole object.
const noField = "<nil>"

// FromError returns the reason for an error of validation, without its place.
func FromError(err *field.Error) finding.Finding {
	f := finding.Finding{Rule: InvalidRule, Severity: finding.Error, Path: err.Field, Message: err.ErrorBody()}
	if strings.Contains(err.Detail, "immutable") {
		f.Rule = ImmutableRule
	}
	if err.Field == noField {
		// Its value says nothing either.
		f.Path, f.Message = "", err.Detail
	}
	return f
}

// placeOf returns the path of a violation in the new object, with indexes in place of keys.
func placeOf(updated map[string]any, v immutability.Violation) string {
	var steps []value.Step
	var current any = updated
	for _, step := range v.Path.Steps() {
		switch step.Kind {
		case value.Item, value.Member:
			index := indexOf(current, step)
			if index < 0 {
				return value.Notation{Kubernetes: true}.Steps(steps)
			}
			step = value.Step{Kind: value.Index, Index: index}
		}
		steps = append(steps, step)
		switch in := current.(type) {
		case map[string]any:
			current = in[step.Name]
		case []any:
			current = nil
			if step.Index < len(in) {
				current = in[step.Index]
			}
		}
	}
	return value.Notation{Kubernetes: true}.Steps(steps)
}

// indexOf returns the index of the item that a step names, -1 if the list does not have it.
func indexOf(list any, step value.Step) int {
	items, _ := list.([]any)
	return slices.IndexFunc(items, func(item any) bool {
		return step.Equal(value.Step{Kind: step.Kind, Keys: step.Keys, Value: item, Index: step.Index})
	})
}

// NameOf returns kind and name of an object.
func NameOf(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	kind, _ := object["kind"].(string)
	return kind + "/" + name
}
