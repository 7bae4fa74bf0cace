package guard

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/policy"
)

const (
	// KeepWebhook is the name of the webhook for objects with the annotation holdfast.dev/keep.
	KeepWebhook = "keep.guard.holdfast.dev"
	// HeldWebhook is the name of the webhook for the deletion of holders.
	HeldWebhook = "held.guard.holdfast.dev"
	// KeepPath is the path of both, before the token.
	KeepPath = "/keep"
	// keepSeconds bounds one review. The guard lists the objects in a namespace for it.
	keepSeconds = 10
	// heldPrefix begins the names of early webhooks for holders.
	heldPrefix = "held-"
	// HoldersPath is the path of the webhooks for objects that rules no-delete begin to keep, in a namespace that is no holder yet.
	HoldersPath = "/holders"
	// holdersSeconds bounds one review of them. It is longer than an API server needs to learn of a changed configuration.
	holdersSeconds = 5
	// holderPrefix begins the annotations of the configuration that name the holders.
	holderPrefix = "guard.holdfast.dev/holder-"
)

// holder is a namespace or a definition that holds an object with the annotation or of a resource with a rule no-delete, or has held one:
// its deletion has to be judged. The configuration names all holders, so the API server does not ask about other namespaces and definitions.
type holder struct{ resource, name string }

const (
	namespacesResource  = "namespaces"
	definitionsResource = "customresourcedefinitions"
)

func (h holder) String() string { return h.resource + "/" + h.name }

func (h holder) annotation() string { return holderPrefix + suffixOf(h.String()) }

// earlyName returns the name of the early webhook of a holder.
func (h holder) earlyName() string { return heldPrefix + suffixOf(h.String()) + ".guard.holdfast.dev" }

// holdersOf returns the holders that a configuration names.
func holdersOf(in *configuration) map[holder]bool {
	out := map[holder]bool{}
	for key, text := range in.Annotations {
		if resource, name, ok := strings.Cut(text, "/"); ok && strings.HasPrefix(key, holderPrefix) {
			out[holder{resource, name}] = true
		}
	}
	return out
}

// holdersIn returns the names of the early webhooks of the holders that the webhook of the leader has.
func holdersIn(in *configuration) map[string]bool {
	out := map[string]bool{}
	at := slices.IndexFunc(in.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool { return w.Name == HeldWebhook })
	for h := range holdersOf(in) {
		if at >= 0 && strings.Contains(in.Webhooks[at].MatchConditions[0].Expression, fmt.Sprintf("%q", h.name)) {
			out[h.earlyName()] = true
		}
	}
	return out
}

// judgesDeletion reports whether the API server asks about the deletion of a holder.
func judgesDeletion(in *configuration, h holder) bool {
	early := func(w admissionregistrationv1.ValidatingWebhook) bool { return w.Name == h.earlyName() }
	return holdersIn(in)[h.earlyName()] || slices.ContainsFunc(in.Webhooks, early)
}

// known are the holders that this leader knows. They stay as long as the namespace or definition exists.
type known struct {
	mu    sync.Mutex
	names map[holder]bool
	// changed has a value if tell was called.
	changed chan struct{}
}

func newKnown() *known { return &known{names: map[holder]bool{}, changed: make(chan struct{}, 1)} }

// add adds holders. The leader adds those that it reads before each write, and must not write again because of them.
func (k *known) add(more map[holder]bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.Copy(k.names, more)
}

// tell adds holders, and tells the leader.
func (k *known) tell(more map[holder]bool) {
	if len(more) == 0 {
		return
	}
	k.add(more)
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

// existing returns the holders that exist, in a fixed order, and forgets the others.
func (k *known) existing(exists func(holder) bool) []holder {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.names, func(h holder, _ bool) bool { return !exists(h) })
	return slices.SortedFunc(maps.Keys(k.names), func(a, b holder) int { return strings.Compare(a.String(), b.String()) })
}

// kept returns the webhook for objects with the annotation. The API server calls it if a write sets, changes or removes the annotation,
// and if an object with it is deleted.
func (w wanted) kept() admissionregistrationv1.ValidatingWebhook {
	out := w.webhook(KeepWebhook, KeepPath)
	out.FailurePolicy, out.TimeoutSeconds = new(admissionregistrationv1.Fail), new(int32(keepSeconds))
	rule := func(resource string, operations ...admissionregistrationv1.OperationType) admissionregistrationv1.RuleWithOperations {
		return admissionregistrationv1.RuleWithOperations{Operations: operations, Rule: admissionregistrationv1.Rule{
			APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{resource}, Scope: new(admissionregistrationv1.AllScopes),
		}}
	}
	out.Rules = []admissionregistrationv1.RuleWithOperations{
		rule("*/*", admissionregistrationv1.Create, admissionregistrationv1.Update), rule("*", admissionregistrationv1.Delete),
	}
	// The annotation has no effect on the ReplicaSet of a Deployment, so a new owner can end it.
	const owned = `request.resource.group == "apps" && request.resource.resource == "replicasets" && ` +
		`(has(object.metadata.ownerReferences) != has(oldObject.metadata.ownerReferences) || ` +
		`has(object.metadata.ownerReferences) && object.metadata.ownerReferences != oldObject.metadata.ownerReferences)`
	out.MatchConditions = []admissionregistrationv1.MatchCondition{{
		Name: "kept",
		Expression: fmt.Sprintf(`request.operation == "DELETE" ? %[2]s : %[1]s != %[2]s || `+
			`%[1]s && (object.metadata.annotations[%[3]q] != oldObject.metadata.annotations[%[3]q] || %[4]s)`,
			isKept("object"), isKept("oldObject"), keep.Annotation, owned),
	}}
	return out
}

// isKept returns the condition that an object of a review, "object" or "oldObject", has the annotation. It is true or false for every
// object, also for one that is null.
func isKept(object string) string { return hasAnnotation(object, keep.Annotation) }

// hasAnnotation is isKept for any annotation.
func hasAnnotation(object, key string) string {
	// A server-side apply of a custom resource that removes the last annotation makes null of the map.
	const has = `(OBJECT != null && has(OBJECT.metadata) && has(OBJECT.metadata.annotations) && OBJECT.metadata.annotations != null && ` +
		`KEY in OBJECT.metadata.annotations)`
	return strings.NewReplacer("OBJECT", object, "KEY", fmt.Sprintf("%q", key)).Replace(has)
}

// held returns the webhook for the deletion of holders, and for the write that removes the last finalizer of a terminating namespace: the
// kept objects would be left without it.
func (w wanted) held(name string, holders []holder) admissionregistrationv1.ValidatingWebhook {
	out := w.webhook(name, KeepPath)
	out.FailurePolicy, out.TimeoutSeconds = new(admissionregistrationv1.Fail), new(int32(keepSeconds))
	names := map[string][]string{}
	for _, h := range holders {
		names[h.resource] = append(names[h.resource], fmt.Sprintf("%q", h.name))
	}
	for _, r := range []struct{ group, resource string }{{"", namespacesResource}, {definitions().Group, definitionsResource}} {
		out.Rules = append(out.Rules, admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{r.group}, APIVersions: []string{"v1"}, Resources: []string{r.resource}, Scope: new(admissionregistrationv1.AllScopes),
			},
		})
	}
	finalize := &policy.Resource{Versions: []string{"v1"}}
	out.Rules = append(out.Rules, ruleFor(admissionregistrationv1.Update, finalize, []string{namespacesResource + "/finalize"}))
	const ends = `has(oldObject.metadata.deletionTimestamp) && (!has(object.spec) || !has(object.spec.finalizers) || size(object.spec.finalizers) == 0)`
	deleted := "true"
	if w.annotations { // the API server asks about objects with the annotation anyway
		deleted = "!" + isKept("oldObject")
	}
	out.MatchConditions = []admissionregistrationv1.MatchCondition{{
		Name: "holders",
		Expression: fmt.Sprintf(`request.resource.resource == %q ? oldObject.metadata.name in [%s] : oldObject.metadata.name in [%s]`, namespacesResource,
			strings.Join(names[namespacesResource], ", "), strings.Join(names[definitionsResource], ", ")),
	}, {
		Name: "deleted", Expression: fmt.Sprintf(`request.operation == "DELETE" ? %s : %s`, deleted, ends),
	}}
	return out
}
