package replace_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// deny refuses a request.
func deny(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{UID: request.UID, Result: &metav1.Status{Message: "not here"}}
}

// mark adds an entry to a ConfigMap.
func mark(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	kind := admissionv1.PatchTypeJSONPatch
	return &admissionv1.AdmissionResponse{
		UID: request.UID, Allowed: true, PatchType: &kind, Patch: []byte(`[{"op":"add","path":"/data","value":{"mutated":"yes"}}]`),
	}
}

// allow accepts a request.
func allow(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{UID: request.UID, Allowed: true}
}

// webhooks returns a configuration with a webhook that answers for the ConfigMaps of a namespace. Its name is that of the namespace.
func webhooks(
	t testing.TB, kind, namespace, operations string, answer func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse, fields ...string,
) string {
	t.Helper()
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = answer(review.Request)
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(hook.Close)
	authority := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw}))
	more := "sideEffects: None"
	if len(fields) > 0 {
		more = fields[0]
	}
	return fmt.Sprintf(`{apiVersion: admissionregistration.k8s.io/v1, kind: %s, metadata: {name: %s}, webhooks: [{
		name: hook.example.dev, admissionReviewVersions: [v1], clientConfig: {url: %q, caBundle: %s}, %s,
		namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[2]s}},
		rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [%[6]s]}]}]}`,
		kind, namespace, hook.URL, authority, more, operations)
}

// calls records the requests that a webhook gets for an object named asked.
type calls struct {
	mu  sync.Mutex
	all []string
	// inForce says that there was a request for another object.
	inForce bool
}

func (c *calls) record(request *admissionv1.AdmissionRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if request.Name != "asked" {
		c.inForce = true
		return
	}
	text := fmt.Sprintf("%s old=%t new=%t", request.Operation, len(request.OldObject.Raw) > 0, len(request.Object.Raw) > 0)
	if request.DryRun != nil && *request.DryRun {
		text += " dry"
	}
	c.all = append(c.all, text)
}

// Webhooks are asked about the deletion of the old object first, and then about the creation of the new one, which they may change. The
// old object stays if one of them refuses or does not answer.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	const (
		validating, mutating = "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"
		deletion, creation   = "DELETE old=true new=false", "CREATE old=false new=true"
	)
	type answer = func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse
	only := func(operation admissionv1.Operation, then answer) answer {
		return func(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			if request.Operation == operation {
				return then(request)
			}
			return allow(request)
		}
	}
	broken := func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse { return nil }
	for name, test := range map[string]struct {
		kind, fields string
		answer       answer
		dryRun       bool
		// refused is in the error, empty if there is none.
		refused string
		want    []string
		// data is in the new object.
		data map[string]any
	}{
		"both are asked": {kind: validating, answer: allow, want: []string{deletion, creation}},
		"in a dry run":   {kind: validating, answer: allow, dryRun: true, want: []string{deletion + " dry", creation + " dry"}},
		"a webhook with side effects in a dry run": {
			kind: mutating, fields: "sideEffects: NoneOnDryRun", answer: allow, dryRun: true, want: []string{deletion + " dry", creation + " dry"},
		},
		"the new object is changed": {
			kind: mutating, answer: only(admissionv1.Create, mark), want: []string{deletion, creation}, data: map[string]any{"mutated": "yes"},
		},
		"the deletion is refused": {kind: validating, answer: only(admissionv1.Delete, deny), refused: "not here", want: []string{deletion}},
		"the creation is refused": {kind: validating, answer: only(admissionv1.Create, deny), refused: "not here", want: []string{deletion, creation}},
		"a webhook without an answer": {
			kind: validating, answer: only(admissionv1.Delete, broken), refused: "failed calling webhook", want: []string{deletion},
		},
		"one that may fail": {
			kind: validating, answer: only(admissionv1.Delete, broken), fields: "sideEffects: None, failurePolicy: Ignore", want: []string{deletion, creation},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			recorded := &calls{}
			var fields []string
			if test.fields != "" {
				fields = []string{test.fields}
			}
			old := c.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: asked}, immutable: true}`)
			resource := admissionResource(strings.ToLower(test.kind) + "s")
			c.create(t, resource, webhooks(t, test.kind, c.Namespace, "CREATE, DELETE", func(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
				recorded.record(request)
				return test.answer(request)
			}, fields...))
			t.Cleanup(func() {
				ctx := context.WithoutCancel(t.Context())
				if err := c.CoreV1().RESTClient().Delete().AbsPath(c.path(resource, c.Namespace)).Do(ctx).Error(); err != nil {
					t.Error(err)
				}
			})
			waittest.Until(t, "the webhook is asked", func() bool {
				_, _ = c.dryRun(t.Context(), configMaps, yamltest.Map(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}`))
				recorded.mu.Lock()
				defer recorded.mu.Unlock()
				return recorded.inForce
			})
			var parameters []string
			if test.dryRun {
				parameters = []string{"dryRun", "All"}
			}
			got, err := c.replace(t, configMaps, old, parameters...)
			if test.refused == "" && err != nil || test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)) {
				t.Errorf("%v, want %q", err, test.refused)
			}
			if diff := cmp.Diff(test.want, recorded.all); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			stored, err := c.get(t.Context(), configMaps, "asked")
			if err != nil {
				t.Fatal(err)
			}
			if stays := test.dryRun || test.refused != ""; stays != (stored.GetUID() == old.GetUID()) {
				t.Errorf("stored %v", stored)
			}
			if test.data != nil && (!equal(stored.Object["data"], test.data) || !equal(got.Object["data"], test.data)) {
				t.Errorf("stored %v, answer %v", stored, got)
			}
		})
	}
}
