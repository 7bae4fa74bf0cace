package controller_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/operator/controller"
)

// undeletable has the ConfigMaps of an Instance kept by a webhook that fails, and
// gives the times at which it was asked.
func (c cluster) undeletable(t *testing.T, instance string) (asked func() []time.Time) {
	t.Helper()
	var mutex sync.Mutex
	var times []time.Time
	webhook := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		times = append(times, time.Now())
		http.Error(out, "not now", http.StatusServiceUnavailable)
	}))
	t.Cleanup(webhook.Close)
	none, fail := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw})
	_, err := c.typed.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: instance},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "fails.example.com", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &webhook.URL, CABundle: bundle},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{api.InstanceLabel: instance}},
			FailurePolicy:  &fail, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "the webhook is asked", func() bool {
		return c.resource("configmaps").Delete(t.Context(), instance+"-extra", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}) != nil
	})
	mutex.Lock()
	defer mutex.Unlock()
	times = nil
	return func() []time.Time {
		mutex.Lock()
		defer mutex.Unlock()
		return slices.Clone(times)
	}
}

// TestPruneTriedAgain: what cannot be deleted now is tried again after a while, and
// then a longer one, and holds nobody up who asks for something else.
func TestPruneTriedAgain(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.operator(t, "stuck", "0.1.0", `
parameters: [{name: EXTRA, default: "yes"}]
templates: {a.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-{{ if eq .Params.EXTRA \"yes\" }}extra{{ else }}plain{{ end }}'}}"}
tasks: [{name: all, kind: Apply, spec: {resources: [a.yaml]}}]
plans: {deploy: {phases: [{name: main, steps: [{name: all, tasks: [all]}]}]}}
`)
	c.install(t, "stuck", "stuck-0.1.0", nil)
	c.complete(t, "stuck")
	asked := c.undeletable(t, "stuck")
	set := func(value string) {
		t.Helper()
		if err := c.change(t, "stuck", func(instance *api.Instance) { instance.Spec.Parameters = map[string]string{"EXTRA": value} }); err != nil {
			t.Fatal(err)
		}
	}
	set("no")
	c.says(t, "stuck", "no longer part of operator version stuck-0.1.0: ConfigMap stuck-extra: ")
	servertest.Eventually(t, "it is tried again", func() bool { return len(asked()) >= 4 })
	// Timers are never early, so that this holds on any machine.
	if times := asked(); times[3].Sub(times[0]) < controller.FirstRetry*(1+2+4) {
		t.Errorf("tried at %v", times[:4])
	}
	set("yes")
	// The other one is too much now, and as stuck; but it is another run.
	c.says(t, "stuck", "no longer part of operator version stuck-0.1.0: ConfigMap stuck-plain: ")
	if err := c.typed.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(t.Context(), "stuck", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.complete(t, "stuck")
	if c.get(t, "configmaps", "stuck-plain") != nil {
		t.Error("what is no longer rendered is there")
	}
}

// TestPruneLeavesItsRun: a name that is another each time is kept until the next run.
func TestPruneLeavesItsRun(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.operator(t, "dice", "0.1.0", `
templates: {a.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: 'dice-{{ randNumeric 12 }}'}}"}
tasks: [{name: all, kind: Apply, spec: {resources: [a.yaml]}}]
plans: {deploy: {phases: [{name: main, steps: [{name: all, tasks: [all]}]}]}}
`)
	there := func() []string {
		t.Helper()
		list, err := c.typed.CoreV1().ConfigMaps(c.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: api.InstanceLabel + "=dice"})
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
	c.complete(t, "dice")
	first := there()
	if err := c.change(t, "dice", func(instance *api.Instance) { instance.Spec.PlanExecution.PlanName = "deploy" }); err != nil {
		t.Fatal(err)
	}
	c.complete(t, "dice")
	if second := there(); len(first) != 1 || len(second) != 1 || slices.Equal(first, second) {
		t.Errorf("there are %v, then %v", first, second)
	}
}
