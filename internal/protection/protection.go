// Package protection counts the writes that the protections of the server refuse.
//
// A protection is a rule that refuses writes: immutable fields of custom resources and of built-in kinds,
// immutable ConfigMaps and Secrets, immutable parameters, kept objects, the gate for definitions, and field ownership. The code that refuses a
// write records its protection in the request, and the filter counts the request when it is answered:
//
//	handler = refusals.Filter(handler)
//	protection.Refuse(ctx, protection.ImmutableField, "spec.size")
//
// A request counts once for each protection, although a store may try a write several times. It does not
// count if it is a dry run, or if a later try succeeded. All functions are safe for concurrent use.
package protection

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Protection is a rule that refuses writes.
type Protection string

// The protections.
const (
	// ImmutableField refuses to change the fields of a custom resource that its definition marks.
	ImmutableField Protection = "immutable-field"
	// BuiltInField refuses to change the fields that Kubernetes makes immutable.
	BuiltInField Protection = "built-in-field"
	// ImmutableConfig refuses to change an immutable ConfigMap or Secret.
	ImmutableConfig Protection = "immutable-config"
	// ImmutableParameter refuses to change an immutable parameter of an Instance.
	ImmutableParameter Protection = "immutable-parameter"
	// Policy refuses what an ImmutabilityPolicy forbids.
	Policy Protection = "policy"
	// KeptObject refuses to delete an object that must be kept, and to change its annotation.
	KeptObject Protection = "kept-object"
	// Definition refuses changes of definitions by which stored objects lose data or become invalid.
	Definition Protection = "definition"
	// Ownership refuses to edit fields that another client owns.
	Ownership Protection = "ownership"
)

// All returns all protections.
func All() []Protection {
	return []Protection{ImmutableField, BuiltInField, ImmutableConfig, ImmutableParameter, Policy, KeptObject, Definition, Ownership}
}

// IsImmutable reports whether an error of validation refuses to change a field that Kubernetes makes immutable. The origin of such
// an error tells it, not the message: a rule of a definition may have the same message.
func IsImmutable(err *field.Error) bool { return err.Origin == "immutable" }

// record holds the protections that refused a request, and what a right of its user allowed.
type record struct {
	mu        sync.Mutex
	refused   []Refusal
	overrides []override
}

// override is what a right of the user allowed.
type override struct {
	what     string
	announce func()
	// counts means that it is not of a dry run.
	counts bool
}

type (
	recordKey struct{}
	dryRunKey struct{}
)

// Refusal is a protection that refused a request, with the fields that it is about. There are none if it is about the whole object.
type Refusal struct {
	Protection Protection
	Fields     []string
}

// maxFields is how many fields a Refusal has.
const maxFields = 8

// Refuse records that a protection refuses the request of a context, because of these fields. It does nothing for a request that
// did not pass the filter.
func Refuse(ctx context.Context, protection Protection, fields ...string) {
	r, ok := ctx.Value(recordKey{}).(*record)
	if !ok || !Counts(ctx) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.refused, func(known Refusal) bool { return known.Protection == protection })
	if at < 0 {
		at = len(r.refused)
		r.refused = append(r.refused, Refusal{Protection: protection})
	}
	for _, name := range fields {
		if refused := &r.refused[at]; len(refused.Fields) < maxFields && !slices.Contains(refused.Fields, name) {
			refused.Fields = append(refused.Fields, name)
		}
	}
}

// FieldsOf returns the fields of the errors that a function selects.
func FieldsOf(errs field.ErrorList, selects func(*field.Error) bool) []string {
	var fields []string
	for _, err := range errs {
		if selects(err) {
			fields = append(fields, err.Field)
		}
	}
	return fields
}

// Override records that the right of its user allows the request of a context although it breaks a rule. If the request succeeds, it
// counts, and announce is called before it is answered: another check may still refuse the write. The answer to the deletion of a
// collection can be an error although objects were deleted, so its overrides always count. For a request that did not pass the filter,
// announce is called at once.
//
// what identifies the object. The server judges a write again if another client has written the object meanwhile, and then only the last
// call counts. announce is nil if nothing is overridden.
func Override(ctx context.Context, what string, announce func()) {
	r, ok := ctx.Value(recordKey{}).(*record)
	if !ok {
		if announce != nil {
			announce()
		}
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.overrides = slices.DeleteFunc(r.overrides, func(o override) bool { return o.what == what })
	if announce != nil {
		r.overrides = append(r.overrides, override{what, announce, Counts(ctx)})
	}
}

// DryRun returns a context in which nothing counts. The filter finds only a dry run of the URL: a client can also ask for it in the body
// of a deletion or eviction.
func DryRun(ctx context.Context) context.Context { return context.WithValue(ctx, dryRunKey{}, true) }

// Counts reports whether a refusal of the request of a context counts: the request is an update and no dry run.
func Counts(ctx context.Context) bool {
	_, ok := ctx.Value(recordKey{}).(*record)
	return ok && ctx.Value(dryRunKey{}) == nil
}

func (r *record) refusals() []Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.refused)
}

// announceOverrides calls the functions of Override, and reports whether the request counts as an override.
func (r *record) announceOverrides() bool {
	r.mu.Lock()
	overrides := r.overrides
	r.mu.Unlock()
	counts := false
	for _, each := range overrides {
		each.announce()
		counts = counts || each.counts
	}
	return counts
}
