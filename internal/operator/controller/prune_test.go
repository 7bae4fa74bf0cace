package controller_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/waittest"
)

// undeletable registers a webhook that fails, so that the ConfigMaps of an Instance cannot
// be deleted. It returns the number of attempts since then.
func (c cluster) undeletable(t *testing.T, instance string) (attempts func() int64) {
	t.Helper()
	var count atomic.Int64
	webhook := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		count.Add(1)
		http.Error(out, "not now", http.StatusServiceUnavailable)
	}))
	t.Cleanup(webhook.Close)
	none, fail := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw})
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: instance},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:         "fails.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &webhook.URL, CABundle: bundle},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"},
				},
			}},
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{api.InstanceLabel: instance}},
			FailurePolicy:  &fail, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		}},
	}
	webhooks := c.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := webhooks.Create(t.Context(), configuration, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the webhook is called", func() bool {
		dryRun := metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
		return c.resource("configmaps").Delete(t.Context(), instance+"-extra", dryRun) != nil
	})
	count.Store(0)
	return count.Load
}

// TestPruneRetries checks that the controller retries to prune an object that cannot be
// deleted now, and that a user can request another run meanwhile.
func TestPruneRetries(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.operator(t, "stuck", "0.1.0", `
parameters: [{name: EXTRA, default: "yes"}]
templates:
  a.yaml: "{apiVersion: v1, kind: ConfigMap,
    metadata: {name: '{{ .Name }}-{{ if eq .Params.EXTRA \"yes\" }}extra{{ else }}plain{{ end }}'}}"
tasks: [{name: all, kind: Apply, spec: {resources: [a.yaml]}}]
plans: {deploy: {phases: [{name: main, steps: [{name: all, tasks: [all]}]}]}}
`)
	c.install(t, "stuck", "stuck-0.1.0", nil)
	c.awaitComplete(t, "stuck")
	attempts := c.undeletable(t, "stuck")
	set := func(value string) {
		t.Helper()
		extra := map[string]string{"EXTRA": value}
		if err := c.change(t, "stuck", func(instance *api.Instance) { instance.Spec.Parameters = extra }); err != nil {
			t.Fatal(err)
		}
	}
	set("no")
	c.awaitMessage(t, "stuck", "no longer part of operator version stuck-0.1.0: ConfigMap stuck-extra: ")
	waittest.Until(t, "several attempts", func() bool { return attempts() >= 4 })
	set("yes")
	// The new run renders the first object again and cannot prune the second one.
	c.awaitMessage(t, "stuck", "no longer part of operator version stuck-0.1.0: ConfigMap stuck-plain: ")
	webhooks := c.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if err := webhooks.Delete(t.Context(), "stuck", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.awaitComplete(t, "stuck")
	if c.get(t, "configmaps", "stuck-plain") != nil {
		t.Error("the object that is no longer rendered exists")
	}
}

// TestPruneKeepsObjectsOfRun checks that an object with a random name stays until the next
// run.
func TestPruneKeepsObjectsOfRun(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.operator(t, "dice", "0.1.0", `
templates: {a.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: 'dice-{{ randNumeric 12 }}'}}"}
tasks: [{name: all, kind: Apply, spec: {resources: [a.yaml]}}]
plans: {deploy: {phases: [{name: main, steps: [{name: all, tasks: [all]}]}]}}
`)
	existing := func() []string {
		t.Helper()
		selector := metav1.ListOptions{LabelSelector: api.InstanceLabel + "=dice"}
		list, err := c.CoreV1().ConfigMaps(c.Namespace).List(t.Context(), selector)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, one := range list.Items {
			names = append(names, one.Name)
		}
		return names
	}
	c.install(t, "dice", "dice-0.1.0", nil)
	c.awaitComplete(t, "dice")
	first := existing()
	if err := c.change(t, "dice", func(instance *api.Instance) { instance.Spec.PlanExecution.PlanName = "deploy" }); err != nil {
		t.Fatal(err)
	}
	c.awaitComplete(t, "dice")
	if second := existing(); len(first) != 1 || len(second) != 1 || slices.Equal(first, second) {
		t.Errorf("objects %v, then %v", first, second)
	}
}
