// Package preview decides about an update of a custom resource without a server, in the
// steps and with the rules of the server.
//
// The outcome of an update is one of four: the object stays unchanged, it is updated in
// place, it must be replaced because a rule forbids the update, or the new object is
// not valid. To replace an object is to delete it and to create the new one. A loss is
// something of the old object that the new one does not have.
//
// The condition of a rule (while) is evaluated for the old object. The rights of the user (unless)
// are what the caller says.
//
//	judgement := preview.Update{Definition: crd, Versions: versions, Old: old, New: new}.Judge(ctx)
//
// A client cannot see what mutating webhooks, admission policies and a conversion webhook
// would do; see [Judgement.Unchecked] for the latter. The objects are not changed. A
// judgement holds references into copies of them.
package preview

import (
	"context"
	"fmt"
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/refusal"
	"holdfast.dev/holdfast/skeleton"
)

// Outcome is the result of an update in one word.
type Outcome string

// The outcomes.
const (
	Unchanged Outcome = "unchanged"
	InPlace   Outcome = "updated in place"
	Replace   Outcome = "must be replaced"
	Invalid   Outcome = "refused"
	Create    Outcome = "created"
)

// Update is an update of a custom resource.
type Update struct {
	Definition *definition.CustomResourceDefinition
	Versions   map[string]*definition.Compiled
	// Version is the version in which the client writes.
	Version string
	// Old is the object that the server has, nil if the client creates it. New is the
	// object that the client sends.
	Old, New map[string]any
	// May reports whether the user of the update has a verb on the object. Without it the user has none.
	May func(verb string) bool
}

// Judgement is what the server would decide.
type Judgement struct {
	Outcome Outcome
	// WrongTypes are values for which the server answers 400 before any other check.
	WrongTypes []skeleton.WrongType
	// Refused are changes that rules forbid. Allowed are those that break a rule and that a right of the user
	// allows.
	refusal.Decision
	// Invalid are the errors of the schema and its CEL rules.
	Invalid field.ErrorList
	// Dropped are the fields of the new object that the schema does not specify.
	Dropped []string
	// Unchecked are the versions with markers that only a conversion webhook can convert to.
	Unchecked []string
	// Old and New are the objects as a GET would return them.
	Old, New map[string]any
}

// Judge decides about the update.
func (u Update) Judge(ctx context.Context) Judgement {
	version := u.Versions[u.Version]
	var j Judgement
	j.New = runtime.DeepCopyJSON(u.New)
	if u.Old == nil {
		j.WrongTypes = version.Skeleton.Check(j.New)
	} else {
		j.Old = u.convert(u.Old, version)
		j.WrongTypes = version.Skeleton.CheckUpdate(j.Old, j.New)
	}
	if version.Pruned {
		j.Dropped = version.Skeleton.PrunePaths(j.New)
	}
	version.Skeleton.Default(j.New)
	version.Skeleton.Normalize(j.New)
	if version.HasStatus() {
		keep(j.New, j.Old, "status")
	}
	keepMetadata(j.New, j.Old)
	if len(j.WrongTypes) == 0 {
		j.Invalid = version.Validate(ctx, j.New, j.Old)
	}
	if u.Old != nil {
		u.check(ctx, &j, version)
	}
	j.Outcome = j.outcome(ctx, version)
	return j
}

// outcome returns the outcome that follows from the findings. A CEL rule may refuse the update
// and accept the same object as a new one.
func (j *Judgement) outcome(ctx context.Context, version *definition.Compiled) Outcome {
	refused := len(j.Refused) > 0 || len(j.Invalid) > 0
	switch {
	case len(j.WrongTypes) > 0:
		return Invalid
	case j.Old == nil && refused:
		return Invalid
	case j.Old == nil:
		return Create
	case refused:
		created := runtime.DeepCopyJSON(j.New)
		keep(created, nil, "status")
		if errs := version.Validate(ctx, created, nil); len(errs) > 0 {
			j.Invalid = errs
			return Invalid
		}
		return Replace
	case reflect.DeepEqual(j.Old, j.New):
		return Unchanged
	}
	return InPlace
}

// check finds the changes that rules of any served or stored version forbid.
func (u Update) check(ctx context.Context, j *Judgement, version *definition.Compiled) {
	j.Decision = u.decide(ctx, version, j.Old, j.New)
	conversion := u.Definition.Spec.Conversion
	byWebhook := conversion != nil && conversion.Strategy == apiextensionsv1.WebhookConverter
	for i := range u.Definition.Spec.Versions {
		v := &u.Definition.Spec.Versions[i]
		other := u.Versions[v.Name]
		if other == version || other.Policy == nil || !v.Served && !v.Storage {
			continue
		}
		if byWebhook {
			j.Unchecked = append(j.Unchecked, v.Name)
			continue
		}
		j.Merge(u.decide(ctx, other, u.convert(j.Old, other), u.convert(j.New, other)))
	}
}

// decide returns what becomes of the changes that the rules of a version forbid. Both objects are in this version.
func (u Update) decide(ctx context.Context, version *definition.Compiled, oldObj, newObj map[string]any) refusal.Decision {
	source := ""
	if version.Kind.Version != u.Version {
		source = "version " + version.Kind.Version
	}
	may := u.May
	if may == nil {
		may = func(string) bool { return false }
	}
	edge := refusal.Edge{
		Holds: func(expression string) (bool, error) { return version.Holds(ctx, expression, oldObj) },
		May:   may,
	}
	return edge.Decide(refusal.Of(source, version.Policy.Check(oldObj, newObj)))
}

// convert returns a copy of an object as a GET in another version would return it, without a
// conversion webhook.
func (u Update) convert(object map[string]any, to *definition.Compiled) map[string]any {
	out := runtime.DeepCopyJSON(object)
	out["apiVersion"] = fmt.Sprintf("%s/%s", to.Kind.Group, to.Kind.Version)
	if to.Pruned {
		to.Skeleton.Prune(out)
	}
	to.Skeleton.Default(out)
	to.Skeleton.Normalize(out)
	return out
}

// keep gives an object the value that another has for a field. Without another object, or if
// it does not have the field, the field is removed.
func keep(object, from map[string]any, name string) {
	if value, ok := from[name]; ok {
		object[name] = runtime.DeepCopyJSONValue(value)
	} else {
		delete(object, name)
	}
}

// serverMetadata are the fields of metadata that only the server writes.
var serverMetadata = []string{
	"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
	"selfLink", "managedFields",
}

// keepMetadata gives an object the metadata that only the server writes.
func keepMetadata(object, from map[string]any) {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return
	}
	old, _ := from["metadata"].(map[string]any)
	for _, name := range serverMetadata {
		keep(metadata, old, name)
	}
	// A client that leaves the namespace out means the default one of its kubeconfig.
	if _, ok := metadata["namespace"]; !ok {
		keep(metadata, old, "namespace")
	}
}
