package controller_test

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// requested is a request that a webhook counts.
type requested struct {
	user, object string
	dryRun       bool
}

// counter counts requests.
type counter struct {
	mu  sync.Mutex
	all map[requested]int
}

func (c *counter) of(key requested) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[key]
}

// ServeHTTP implements http.Handler: it counts a review and allows its request.
func (c *counter) ServeHTTP(out http.ResponseWriter, req *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	c.all[requested{review.Request.UserInfo.Username, review.Request.Name, *review.Request.DryRun}]++
	c.mu.Unlock()
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	_ = json.NewEncoder(out).Encode(review)
}

// countWrites registers a webhook that counts the writes of ConfigMaps in the namespace.
func (c cluster) countWrites(t *testing.T) *counter {
	t.Helper()
	counted := &counter{all: map[requested]int{}}
	webhook := httptest.NewTLSServer(counted)
	t.Cleanup(webhook.Close)
	none, fail := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw})
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "count"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:         "count.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &webhook.URL, CABundle: bundle},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"},
				},
			}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: c.Namespace}},
			FailurePolicy:     &fail, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		}},
	}
	webhooks := c.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := webhooks.Create(t.Context(), configuration, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	waittest.Until(t, "the webhook is called", func() bool {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}
		if _, err := c.CoreV1().ConfigMaps(c.Namespace).Create(t.Context(), probe, dryRun); err != nil {
			t.Fatal(err)
		}
		counted.mu.Lock()
		defer counted.mu.Unlock()
		return len(counted.all) > 0
	})
	return counted
}

// TestAuthorsTryOnce checks that an author tries an object once in a run, although the run
// waits and applies it several times, and only if a value of the author took part.
func TestAuthorsTryOnce(t *testing.T) {
	t.Parallel()
	admin, eve, _ := authorsCluster(t)
	admin.operator(t, "waiting", "0.1.0", `
parameters: [{name: NOTE, default: none}, {name: SIZE, default: "1"}]
templates:
  note.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-note'}, data: {note: '{{ .Params.NOTE }}'}}"
  size.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-size'}, data: {size: '{{ .Params.SIZE }}'}}"
  pod.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: '{{ .Name }}', annotations: {holdfast.dev/wait: "true"}}
    spec: {containers: [{name: a, image: a}]}
tasks: [{name: all, kind: Apply, spec: {resources: [note.yaml, size.yaml, pod.yaml]}}]
plans: {deploy: {phases: [{name: main, steps: [{name: all, tasks: [all]}]}]}}
`)
	counted := admin.countWrites(t)
	servertest.AwaitAccount(t, admin.Interface, admin.Namespace)
	eve.install(t, "mine", "waiting-0.1.0", map[string]string{"NOTE": "x"})
	eve.awaitMessage(t, "mine", "it is not ready")
	before := counted.of(requested{"eve", "mine-note", true})
	admin.set(t, "mine", map[string]string{"SIZE": "2"})
	waittest.Until(t, "the objects are applied several times", func() bool {
		return counted.of(requested{"holdfast-admin", "mine-note", false}) >= 3
	})
	note, size := counted.of(requested{"eve", "mine-note", true})-before, counted.of(requested{"eve", "mine-size", true})
	if note != 1 || size != 1 {
		t.Errorf("dry runs as eve: %d of the object with a value of eve, %d of the other", note, size)
	}
}
