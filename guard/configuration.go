package guard

import (
	"context"
	"encoding/json"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// timeoutSeconds bounds one review.
const timeoutSeconds = 5

// configuration returns the webhook configuration for a table. It has no webhook if no resource is
// guarded.
func configuration(t *table, client admissionregistrationv1.WebhookClientConfig) *admissionregistrationv1.ValidatingWebhookConfiguration {
	out := &admissionregistrationv1.ValidatingWebhookConfiguration{
		TypeMeta: metav1.TypeMeta{
			APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "ValidatingWebhookConfiguration",
		},
		ObjectMeta: metav1.ObjectMeta{Name: Name, Labels: map[string]string{"app.kubernetes.io/part-of": Name}},
		Webhooks:   []admissionregistrationv1.ValidatingWebhook{},
	}
	var rules []admissionregistrationv1.RuleWithOperations
	elections := false
	for _, r := range t.sorted() {
		elections = elections || holdsElections(r.GroupResource)
		rules = append(rules, admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{r.Group}, APIVersions: r.versions, Resources: r.names(),
				Scope: new(admissionregistrationv1.AllScopes),
			},
		})
	}
	if len(rules) == 0 {
		return out
	}
	webhook := admissionregistrationv1.ValidatingWebhook{
		Name: "immutable.guard.holdfast.dev", ClientConfig: client, Rules: rules,
		FailurePolicy: new(admissionregistrationv1.Fail), MatchPolicy: new(admissionregistrationv1.Equivalent),
		SideEffects: new(admissionregistrationv1.SideEffectClassNone), TimeoutSeconds: new(int32(timeoutSeconds)),
		AdmissionReviewVersions: []string{"v1"},
		ObjectSelector:          &metav1.LabelSelector{},
		NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn, Values: ExcludedNamespaces(),
		}}},
	}
	if elections {
		webhook.MatchConditions = []admissionregistrationv1.MatchCondition{{
			Name: "no-leader-election",
			Expression: fmt.Sprintf(`!(request.resource.group == "" && request.resource.resource in ["configmaps", "endpoints"] && `+
				`has(oldObject.metadata.annotations) && %q in oldObject.metadata.annotations)`, leaderAnnotation),
		}}
	}
	out.Webhooks = append(out.Webhooks, webhook)
	return out
}

// applyConfiguration writes the configuration, with force: nothing else may change it.
func applyConfiguration(
	ctx context.Context, client kubernetes.Interface, wanted *admissionregistrationv1.ValidatingWebhookConfiguration,
) error {
	text, err := json.Marshal(wanted)
	if err != nil {
		return err
	}
	_, err = client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(ctx, wanted.Name, types.ApplyPatchType, text,
		metav1.PatchOptions{FieldManager: Name, Force: new(true)})
	return err
}
