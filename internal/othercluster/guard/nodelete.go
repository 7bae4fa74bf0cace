package guard

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/policy"
)

const (
	// NoDeleteWebhook is the name of the webhook for the deletion of objects of resources with a rule no-delete. A policy with selectors
	// has its own, with a suffix before the first point.
	NoDeleteWebhook = "no-delete.guard.holdfast.dev"
	// HoldersWebhook is the name of the webhook for objects that a rule no-delete begins to keep. A policy with selectors has its own, too.
	HoldersWebhook = "holders.guard.holdfast.dev"
	// EvictionsWebhook is the name of the webhook for evictions of pods with a rule no-delete. A policy with selectors has its own, too.
	EvictionsWebhook = "evictions.guard.holdfast.dev"
	// NoDeleteWarningsWebhook is the name of the webhook for the deletion of objects with a rule no-delete that only warns.
	NoDeleteWarningsWebhook = "no-delete-warnings.guard.holdfast.dev"
	// EvictionWarningsWebhook is the name of the webhook for evictions of pods with a rule no-delete that only warns.
	EvictionWarningsWebhook = "eviction-warnings.guard.holdfast.dev"
	// DeletionWarningsPath is the path of both, before the token.
	DeletionWarningsPath = "/deletion-warnings"
	// warningSeconds bounds one review of them.
	warningSeconds = 2
	// keptPrefix begins the names of early webhooks for the rules no-delete of definitions.
	keptPrefix = "kept-"
	// noDeleteRule is the rule in Events, reports and audit annotations, which name neither its condition nor its right.
	noDeleteRule = "no-delete"
)

// keptResource are the rules no-delete of a source for a resource.
type keptResource struct {
	policy.Kept
	resource schema.GroupResource
}

// enforced returns the rules no-delete in a fixed order, without those that only warn. The rules of policies come before those of
// definitions, because the first rule is the one that a refusal names.
func enforced(t *policy.Table) []keptResource {
	return slices.DeleteFunc(keptResources(t), func(k keptResource) bool { return k.Warns })
}

// keptResources returns all rules no-delete in the order of enforced.
func keptResources(t *policy.Table) []keptResource {
	var out []keptResource
	for _, name := range slices.SortedFunc(maps.Keys(t.Kept), func(a, b schema.GroupResource) int { return strings.Compare(a.String(), b.String()) }) {
		isAnnotation := func(k policy.Kept) bool { return k.Policy == "" }
		isPolicy := func(k policy.Kept) bool { return k.Policy != "" }
		all := slices.Concat(slices.DeleteFunc(slices.Clone(t.Kept[name]), isAnnotation), slices.DeleteFunc(slices.Clone(t.Kept[name]), isPolicy))
		for _, k := range all {
			out = append(out, keptResource{Kept: k, resource: name})
		}
	}
	return out
}

// webhook returns the name of a webhook for the source. A policy with selectors has its own webhooks, so the API server does not ask about
// other objects.
func (k keptResource) webhook(name string) string {
	if k.Match.SelectsAll() {
		return name
	}
	return strings.Replace(name, ".", "-"+suffixOf(k.Policy)+".", 1)
}

// key names what the source keeps: a resource, and the selectors of its objects.
func (k keptResource) key() string {
	return fmt.Sprint(k.resource, " ", metav1.FormatLabelSelector(k.Match.NamespaceSelector), " ", metav1.FormatLabelSelector(k.Match.ObjectSelector))
}

// earlyName returns the name of the early webhook of a definition.
func (k keptResource) earlyName() string {
	return keptPrefix + suffixOf(k.resource.String()) + ".guard.holdfast.dev"
}

// asked is a webhook for deletions.
type asked struct {
	webhook string
	match   policy.Match
	rule    admissionregistrationv1.RuleWithOperations
}

// asks returns the webhooks for deletions. An eviction deletes a pod without a review of the deletion. The labels of an Eviction are not
// those of the pod, so its webhook has no selector of objects.
func (k keptResource) asks() []asked {
	of := &policy.Resource{GroupResource: k.resource, Versions: k.Versions}
	deletions, evictions := NoDeleteWebhook, EvictionsWebhook
	if k.Warns {
		deletions, evictions = NoDeleteWarningsWebhook, EvictionWarningsWebhook
	}
	out := []asked{{k.webhook(deletions), k.Match, ruleFor(admissionregistrationv1.Delete, of, []string{k.resource.Resource})}}
	if k.resource == corev1.Resource("pods") {
		match := k.Match
		match.ObjectSelector = nil
		rule := ruleFor(admissionregistrationv1.Create, of, []string{"pods/" + evictionSubresource})
		out = append(out, asked{k.webhook(evictions), match, rule})
	}
	return out
}

// covered reports whether the API server asks about deletions because of the rules.
func (k keptResource) covered(in *configuration) bool {
	for _, a := range k.asks() {
		covers := func(w admissionregistrationv1.ValidatingWebhook) bool {
			return (w.Name == a.webhook || k.Policy == "" && w.Name == k.earlyName()) &&
				coversRules(&configuration{Webhooks: []admissionregistrationv1.ValidatingWebhook{w}}, []admissionregistrationv1.RuleWithOperations{a.rule})
		}
		if !slices.ContainsFunc(in.Webhooks, covers) {
			return false
		}
	}
	return true
}

// noDelete returns the webhooks for the rules no-delete.
func (w wanted) noDelete() []admissionregistrationv1.ValidatingWebhook {
	var out []admissionregistrationv1.ValidatingWebhook
	add := func(webhook admissionregistrationv1.ValidatingWebhook, rules ...admissionregistrationv1.RuleWithOperations) {
		at := slices.IndexFunc(out, func(w admissionregistrationv1.ValidatingWebhook) bool { return w.Name == webhook.Name })
		if at < 0 {
			at, out = len(out), append(out, webhook)
		}
		if !coversRules(&configuration{Webhooks: out[at : at+1]}, rules) {
			out[at].Rules = append(out[at].Rules, rules...)
		}
	}
	for _, k := range keptResources(w.rules) {
		for _, a := range k.asks() {
			webhook := w.keeping(a.webhook, a.match)
			if k.Warns { // a deletion never needs the guard because of a warning
				webhook.ClientConfig = w.address.at(DeletionWarningsPath)
				webhook.FailurePolicy, webhook.TimeoutSeconds = new(admissionregistrationv1.Ignore), new(int32(warningSeconds))
			} else if w.annotations { // the API server asks about objects with the annotation anyway
				webhook.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "no-annotation", Expression: "!" + isKept("oldObject")}}
			}
			add(webhook, a.rule)
		}
		if !k.Warns {
			add(w.newHolders(k.webhook(HoldersWebhook), k.Match), k.beginnings()...)
		}
	}
	return out
}

// beginnings returns the rules for the writes by which the source begins to keep an object in a namespace: its creation, and an update of
// its labels. The labels of the namespace are judged by another webhook, see judge.enter.
func (k keptResource) beginnings() []admissionregistrationv1.RuleWithOperations {
	of := &policy.Resource{GroupResource: k.resource, Versions: k.Versions}
	out := []admissionregistrationv1.RuleWithOperations{ruleFor(admissionregistrationv1.Create, of, []string{k.resource.Resource})}
	if k.Match.HasObjectSelector() {
		out = append(out, ruleFor(admissionregistrationv1.Update, of, []string{k.resource.Resource, k.resource.Resource + "/status"}))
	}
	for i := range out {
		out[i].Scope = new(admissionregistrationv1.NamespacedScope)
	}
	return out
}

// newHolders returns a webhook for objects that rules begin to keep, without rules. It has the failure policy Ignore, so that a write never
// needs the guard because of it: when the guard is back, the leader finds the objects.
func (w wanted) newHolders(name string, m policy.Match) admissionregistrationv1.ValidatingWebhook {
	out := w.keeping(name, m)
	out.ClientConfig = w.address.at(HoldersPath)
	out.FailurePolicy, out.TimeoutSeconds = new(admissionregistrationv1.Ignore), new(int32(holdersSeconds))
	var names []string
	for _, h := range w.holders {
		if h.resource == namespacesResource {
			names = append(names, fmt.Sprintf("%q", h.name))
		}
	}
	out.MatchConditions = []admissionregistrationv1.MatchCondition{{
		Name: "no-holder", Expression: fmt.Sprintf(`!(request.namespace in [%s])`, strings.Join(names, ", ")),
	}}
	return out
}

// keeping returns a webhook for deletions, without rules, with the selectors of a policy.
func (w wanted) keeping(name string, m policy.Match) admissionregistrationv1.ValidatingWebhook {
	out := w.webhook(name, KeepPath)
	out.FailurePolicy, out.TimeoutSeconds = new(admissionregistrationv1.Fail), new(int32(keepSeconds))
	if m.ObjectSelector != nil {
		out.ObjectSelector = m.ObjectSelector.DeepCopy()
	}
	if m.NamespaceSelector != nil {
		out.NamespaceSelector.MatchLabels = maps.Clone(m.NamespaceSelector.MatchLabels)
		out.NamespaceSelector.MatchExpressions = append(out.NamespaceSelector.MatchExpressions, m.NamespaceSelector.MatchExpressions...)
	}
	return out
}

// deletions returns when the API server asks about deletions because of the rules in the annotation of a definition.
func (c covering) deletions(ctx context.Context, k keptResource) error {
	covered := func(in *configuration) bool { return k.covered(c.considered(in)) }
	return c.live.ensure(ctx, covered, func(in *configuration) error {
		webhook := wanted{}.keeping(k.earlyName(), k.Match)
		for _, a := range k.asks() {
			webhook.Rules = append(webhook.Rules, a.rule)
		}
		return c.live.addEarly(ctx, in, webhook, early{path: KeepPath})
	})
}

// searchHolders finds the namespaces with objects that rules no-delete keep since the last search. It reports whether there are any. The
// API server already asks about the first such object in another namespace.
func (l *leader) searchHolders(ctx context.Context, current *policy.Table) bool {
	var pending []keptResource
	states := map[string]string{}
	for _, k := range enforced(current) {
		if _, seen := states[k.key()]; seen {
			continue
		}
		state, known := l.searched[k.key()]
		states[k.key()] = state
		if !known || state != "" {
			pending = append(pending, k)
		}
	}
	l.searched = states
	if len(pending) == 0 || !waitNotice(ctx) {
		return false
	}
	more := false
	for _, k := range pending {
		found, err := l.namespacesOf(ctx, k, listedIn(current, k.resource.WithVersion(k.Versions[0])))
		states[k.key()] = ""
		if err != nil {
			states[k.key()] = fmt.Sprintf("the guard cannot list its objects, so they do not keep their namespaces (see %s): %v", ReaderLabel, err)
		}
		l.kept.add(found)
		more = more || len(found) > 0
	}
	return more
}

// namespacesOf returns the namespaces with objects that a source selects.
func (l *leader) namespacesOf(ctx context.Context, k keptResource, in schema.GroupVersionResource) (map[holder]bool, error) {
	objects, err := storedObjects{server: l.server}.List(ctx, keep.Query{Resource: in, MetadataOnly: true})
	out := map[holder]bool{}
	for _, obj := range objects {
		object, ok := obj.(metav1.Object)
		if !ok || object.GetNamespace() == "" || !k.Match.SelectsObject(object.GetLabels()) {
			continue
		}
		if has, err := l.rules.labelsOf(object.GetNamespace()); err != nil || k.Match.SelectsNamespace(has) {
			out[holder{namespacesResource, object.GetNamespace()}] = true
		}
	}
	return out, err
}

// enter returns when the API server asks about the deletion of a namespace whose changed labels let rules no-delete begin to keep its
// objects.
func (j *judge) enter(ctx context.Context, request *admissionv1.AdmissionRequest, was, is labels.Set) error {
	if request.Resource.Group != "" || request.Resource.Resource != namespacesResource || isDryRun(request) {
		return nil
	}
	begins := func(k keptResource) bool {
		return k.Match.HasNamespaceSelector() && !k.Match.SelectsNamespace(was) && k.Match.SelectsNamespace(is)
	}
	if !slices.ContainsFunc(enforced(j.table()), begins) {
		return nil
	}
	h := holder{namespacesResource, request.Name}
	if err := j.live.coverHolder(ctx, h); err != nil {
		return apierrors.NewInternalError(fmt.Errorf("the guard cannot keep %s from being deleted yet, so its labels are not stored: %w", h, err))
	}
	return nil
}

// listedIn returns a resource in the version in which its rules no-delete are judged.
func listedIn(t *policy.Table, r schema.GroupVersionResource) schema.GroupVersionResource {
	for _, k := range t.Kept[r.GroupResource()] {
		if k.Versions[0] != "*" {
			r.Version = k.Versions[0]
		} else if rules, ok := k.Rules.(policy.DefinedRules); ok && r.Version == "*" {
			r.Version = servedVersion(rules.CRD)
		}
	}
	return r
}
