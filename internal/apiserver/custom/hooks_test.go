package custom_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"holdfast.dev/holdfast/internal/waittest"
)

// startHook runs a webhook and returns its clientConfig as one line of YAML.
func startHook(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return fmt.Sprintf("{url: %q, caBundle: %s}", server.URL, base64.StdEncoding.EncodeToString(certificate))
}

// admissionHook answers every admission review with the same JSON patch. It records the
// object in the last review and the number of reviews.
type admissionHook struct {
	mu    sync.Mutex
	patch string
	seen  string
	calls int
	// meanwhile runs during the next review, nil for nothing.
	meanwhile func()
}

func (h *admissionHook) set(patch string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.patch, h.seen, h.calls = patch, "", 0
}

// during sets what runs during the next review.
func (h *admissionHook) during(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.meanwhile = do
}

func (h *admissionHook) last() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seen
}

func (h *admissionHook) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls
}

func (h *admissionHook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	h.seen = string(review.Request.Object.Raw)
	h.calls++
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	if h.patch != "" {
		kind := admissionv1.PatchTypeJSONPatch
		review.Response.PatchType, review.Response.Patch = &kind, []byte(h.patch)
	}
	meanwhile := h.meanwhile
	h.meanwhile = nil
	h.mu.Unlock()
	if meanwhile != nil {
		meanwhile()
	}
	w.Header().Set("Content-Type", "application/json")
	// An error means that the server has closed the connection.
	_ = json.NewEncoder(w).Encode(review)
}

// register registers an admission webhook for the objects of a group, and waits until
// the server calls it.
func register(t *testing.T, kind, group string, hook *admissionHook) {
	t.Helper()
	resource := map[string]string{
		"MutatingWebhookConfiguration":   "mutatingwebhookconfigurations",
		"ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
	}[kind]
	path := "/apis/admissionregistration.k8s.io/v1/" + resource
	shared.must(t, http.StatusCreated, "POST", path, fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: %s
metadata: {name: %s}
webhooks:
- name: hook.%s
  clientConfig: %s
  sideEffects: None
  admissionReviewVersions: [v1]
  rules: [{apiGroups: [%s], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: ["*/*"]}]
`, kind, group, group, startHook(t, hook.ServeHTTP), group))
	t.Cleanup(func() { remove(t, path+"/"+group) })
	waittest.Until(t, "the webhook is asked", func() bool {
		got, err := shared.do("POST", objectsPath(group)+"?dryRun=All", object(group, "v1", `{}`))
		return err == nil && got.code == http.StatusCreated && hook.last() != ""
	})
}
