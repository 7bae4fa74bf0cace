package manager_test

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/othercluster/manager"
	"holdfast.dev/holdfast/internal/othercluster/manager/setup"
)

// TestCheckCoverage checks that the configuration of package setup covers all writes, and that
// each change which excludes writes is found.
func TestCheckCoverage(t *testing.T) {
	t.Parallel()
	type webhook = admissionregistrationv1.MutatingWebhook
	some := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	ignore, cluster := admissionregistrationv1.Ignore, admissionregistrationv1.ClusterScope
	tests := map[string]struct {
		change func(*webhook)
		want   string
	}{
		"as installed":    {func(*webhook) {}, ""},
		"all resources":   {func(w *webhook) { w.Rules[0].APIGroups, w.Rules[0].Resources = []string{"*"}, []string{"*"} }, ""},
		"renamed":         {func(w *webhook) { w.Name = "other.kudo.dev" }, "it has no webhook for instances"},
		"ignored":         {func(w *webhook) { w.FailurePolicy = &ignore }, "failurePolicy is Ignore"},
		"some namespaces": {func(w *webhook) { w.NamespaceSelector = some }, "namespaceSelector leaves namespaces out"},
		"some instances":  {func(w *webhook) { w.ObjectSelector = some }, "objectSelector leaves instances out"},
		"some writes": {
			func(w *webhook) { w.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "a"}} },
			"matchConditions leave writes out",
		},
		"no updates":     {func(w *webhook) { w.Rules[0].Operations = w.Rules[0].Operations[:1] }, "rules leave UPDATE of instances out"},
		"no rules":       {func(w *webhook) { w.Rules = nil }, "rules leave CREATE of instances out"},
		"cluster-scoped": {func(w *webhook) { w.Rules[0].Scope = &cluster }, "rules leave CREATE of instances out"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			configuration := installed(t)
			test.change(&configuration.Webhooks[0])
			got := ""
			if err := manager.CheckCoverage(configuration); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// installed returns the configuration that package setup installs.
func installed(t *testing.T) *admissionregistrationv1.MutatingWebhookConfiguration {
	t.Helper()
	objects, err := setup.Objects(setup.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		if object.GetKind() != "MutatingWebhookConfiguration" {
			continue
		}
		read := &admissionregistrationv1.MutatingWebhookConfiguration{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, read); err != nil {
			t.Fatal(err)
		}
		return read
	}
	t.Fatal("setup has no MutatingWebhookConfiguration")
	return nil
}
