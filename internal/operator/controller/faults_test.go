package controller_test

import (
	"errors"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/controller"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestPermanent checks which errors of a request end a plan. The plan retries after all others.
func TestPermanent(t *testing.T) {
	t.Parallel()
	objects, kind := schema.GroupResource{Resource: "configmaps"}, schema.GroupKind{Kind: "ConfigMap"}
	terminating := apierrors.NewForbidden(objects, "a", errors.New("the namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"forbidden":        {apierrors.NewForbidden(objects, "a", errors.New(`User "eve" cannot patch it`)), true},
		"invalid":          {apierrors.NewInvalid(kind, "a", nil), true},
		"bad request":      {apierrors.NewBadRequest("no object"), true},
		"too large":        {apierrors.NewRequestEntityTooLargeError("3 MiB"), true},
		"method":           {apierrors.NewMethodNotSupported(objects, "patch"), true},
		"quota":            {apierrors.NewForbidden(objects, "a", errors.New("exceeded quota: small, requested: 1")), false},
		"quota unknown":    {apierrors.NewForbidden(objects, "a", errors.New("status unknown for quota: small")), false},
		"terminating":      {terminating, false},
		"conflict":         {apierrors.NewConflict(objects, "a", errors.New("changed")), false},
		"timeout":          {apierrors.NewTimeoutError("slow", 1), false},
		"server timeout":   {apierrors.NewServerTimeout(objects, "patch", 1), false},
		"webhook away":     {apierrors.NewInternalError(errors.New("failed calling webhook")), false},
		"too many":         {apierrors.NewTooManyRequestsError("later"), false},
		"unavailable":      {apierrors.NewServiceUnavailable("later"), false},
		"connection broke": {errors.New("connection refused"), false},
	} {
		if got := controller.Permanent(test.err); got != test.want {
			t.Errorf("%s: permanent %t", name, got)
		}
	}
}

// TestPassingFaults checks that a plan is in state Error, and not FatalError, while a quota has no
// room or a webhook is not available, and that it completes afterwards.
func TestPassingFaults(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.operator(t, "passing", "0.1.0", `
templates: {a.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}'}}"}
tasks: [{name: a, kind: Apply, spec: {resources: [a.yaml]}}]
plans: {deploy: {phases: [{name: main, steps: [{name: a, tasks: [a]}]}]}}
`)
	fails := func(name, message string) {
		t.Helper()
		c.install(t, name, "passing-0.1.0", nil)
		c.awaitMessage(t, name, message)
		if state := c.instance(t, name).Status.PlanStatus["deploy"].Status; state != api.Error {
			t.Errorf("%s is %s", name, state)
		}
	}

	quotas := c.CoreV1().ResourceQuotas(c.Namespace)
	if _, err := quotas.Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourceConfigMaps: resource.MustParse("0")}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the quota in force", func() bool {
		_, err := c.CoreV1().ConfigMaps(c.Namespace).Create(t.Context(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsForbidden(err)
	})
	fails("quota", "quota: none")
	if err := quotas.Delete(t.Context(), "none", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.awaitComplete(t, "quota")

	webhooks := c.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	never, none := "https://127.0.0.1:1", admissionregistrationv1.SideEffectClassNone
	if _, err := webhooks.Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: c.Namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "away.example.com", SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: &never},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: c.Namespace}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the webhook in force", func() bool {
		_, err := c.CoreV1().ConfigMaps(c.Namespace).Create(t.Context(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsInternalError(err)
	})
	fails("webhook", "failed calling webhook")
	if err := webhooks.Delete(t.Context(), c.Namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.awaitComplete(t, "webhook")
}
