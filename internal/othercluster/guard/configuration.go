package guard

import (
	"context"
	"encoding/json"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/policy"
)

// The names of the webhooks, which an API server puts before the message of a refusal.
const (
	// ImmutableWebhook is the name of the webhook for immutable fields.
	ImmutableWebhook = "immutable.guard.holdfast.dev"
	// OwnershipWebhook is the name of the webhook for field ownership.
	OwnershipWebhook = "ownership.guard.holdfast.dev"
)

const (
	// immutableSeconds and ownershipSeconds bound one review. While no guard answers, a write to an applied object waits for
	// the second one.
	immutableSeconds = 5
	ownershipSeconds = 2
)

// wanted is what the webhook configuration depends on.
type wanted struct {
	rules *policy.Table
	// ownership means that field ownership is judged, and annotations that the guard enforces the
	// annotations of definitions and of kept objects.
	ownership, annotations bool
	// namespaces and resources are excluded, besides those that always are.
	namespaces []string
	resources  []schema.GroupResource
	// holders are the namespaces and definitions whose deletion has to be judged.
	holders []holder
	address address
}

// address is where the API server reaches the guard.
type address struct {
	// url is empty if the API server uses the Service.
	url string
	// authorities are the certificates of the authorities that the API server accepts.
	authorities []byte
	// token is the last part of the paths.
	token string
}

// at returns the address of a webhook.
func (a address) at(path string) admissionregistrationv1.WebhookClientConfig {
	path += "/" + a.token
	out := admissionregistrationv1.WebhookClientConfig{CABundle: a.authorities}
	if a.url != "" {
		out.URL = new(a.url + path)
	} else {
		out.Service = &admissionregistrationv1.ServiceReference{Namespace: Namespace, Name: Name, Path: new(path), Port: new(int32(443))}
	}
	return out
}

// configuration returns the webhook configuration. It has no webhook for immutable fields if no resource is guarded.
func (w wanted) configuration() *configuration {
	out := emptyConfiguration()
	out.Labels = map[string]string{"app.kubernetes.io/part-of": Name}
	if len(w.rules.Resources) > 0 {
		out.Webhooks = append(out.Webhooks, w.immutable())
	}
	if w.selectsNamespaces() {
		out.Webhooks = append(out.Webhooks, w.namespaceLabels())
	}
	if w.ownership {
		out.Webhooks = append(out.Webhooks, w.owners())
	}
	if w.annotations {
		out.Webhooks = append(out.Webhooks, w.definitions(), w.gate(), w.kept())
	}
	out.Webhooks = append(out.Webhooks, w.noDelete()...)
	if len(w.holders) > 0 {
		out.Webhooks = append(out.Webhooks, w.held(HeldWebhook, w.holders))
		out.Annotations = map[string]string{}
		for _, h := range w.holders {
			out.Annotations[h.annotation()] = h.String()
		}
	}
	return out
}

// emptyConfiguration returns the configuration without webhooks.
func emptyConfiguration() *configuration {
	return &configuration{
		TypeMeta: metav1.TypeMeta{
			APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "ValidatingWebhookConfiguration",
		},
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Webhooks:   []admissionregistrationv1.ValidatingWebhook{},
	}
}

// webhook returns what both webhooks have in common.
func (w wanted) webhook(name, path string) admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{
		Name: name, ClientConfig: w.address.at(path), MatchPolicy: new(admissionregistrationv1.Equivalent),
		// An update that is no dry run may have an Event about a policy.
		SideEffects: new(admissionregistrationv1.SideEffectClassNoneOnDryRun), AdmissionReviewVersions: []string{"v1"},
		ObjectSelector: &metav1.LabelSelector{},
		NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn, Values: w.excludedNamespaces(),
		}}},
	}
}

// excludedNamespaces returns the namespaces whose objects are not guarded, each once.
func (w wanted) excludedNamespaces() []string {
	all := slices.Concat([]string{Namespace}, policy.ExcludedNamespaces(), w.namespaces)
	slices.Sort(all)
	return slices.Compact(all)
}

// immutable returns the webhook for immutable fields, with exactly the guarded resources.
func (w wanted) immutable() admissionregistrationv1.ValidatingWebhook {
	out := w.webhook(ImmutableWebhook, ImmutablePath)
	out.FailurePolicy, out.TimeoutSeconds = new(admissionregistrationv1.Fail), new(int32(immutableSeconds))
	elections := false
	for _, r := range w.rules.Sorted() {
		elections = elections || policy.HoldsElections(r.GroupResource)
		out.Rules = append(out.Rules, updateRules(r)...)
	}
	if elections {
		out.MatchConditions = []admissionregistrationv1.MatchCondition{noElection()}
	}
	return out
}

// updateRules returns the rules of the webhook for immutable fields that a resource needs.
func updateRules(r *policy.Resource) []admissionregistrationv1.RuleWithOperations {
	var out []admissionregistrationv1.RuleWithOperations
	if names := r.Names(); len(names) > 0 {
		out = append(out, ruleFor(admissionregistrationv1.Update, r, names))
	}
	if names := r.Created(); len(names) > 0 {
		out = append(out, ruleFor(admissionregistrationv1.Create, r, names))
	}
	return out
}

// ruleFor returns the rule of a webhook for an operation on endpoints of a resource.
func ruleFor(
	operation admissionregistrationv1.OperationType, r *policy.Resource, names []string,
) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{operation},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{r.Group}, APIVersions: r.Versions, Resources: names, Scope: new(admissionregistrationv1.AllScopes),
		},
	}
}

// applyConfiguration writes the configuration for a field manager, with force: nothing else may change it.
func applyConfiguration(
	ctx context.Context, client kubernetes.Interface, wanted *configuration, manager string,
) (*configuration, error) {
	text, err := json.Marshal(wanted)
	if err != nil {
		return nil, err
	}
	return client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(ctx, wanted.Name, types.ApplyPatchType, text,
		metav1.PatchOptions{FieldManager: manager, Force: new(true)})
}
