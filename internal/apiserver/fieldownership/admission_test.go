package fieldownership_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// An edit is refused for the fields that the user edited, not for those that a webhook
// changed.
func TestOwnershipBeforeAdmission(t *testing.T) {
	t.Parallel()
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		kind := admissionv1.PatchTypeJSONPatch
		review.Response = &admissionv1.AdmissionResponse{
			UID: review.Request.UID, Allowed: true, PatchType: &kind,
			Patch: []byte(`[{"op":"replace","path":"/data/a","value":"hooked"}]`),
		}
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(hook.Close)
	config := servertest.Start(t, apiserver.Config{}).Config(t)
	admin := running(t, config, "")
	applied(t, admin, "settings")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})
	webhook := *yamltest.Decode[admissionregistrationv1.MutatingWebhookConfiguration](t, fmt.Sprintf(`
metadata: {name: hook}
webhooks:
- name: hook.example.dev
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: %q, caBundle: %s}
  objectSelector: {matchLabels: {team: red}}
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [UPDATE]}]
`, hook.URL, base64.StdEncoding.EncodeToString(ca)))
	webhooks := admin.AdmissionregistrationV1().MutatingWebhookConfigurations()
	if _, err := webhooks.Create(t.Context(), &webhook, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	edit := running(t, config, "kubectl edit")
	n := 0
	waittest.Until(t, "the webhook is called", func() bool {
		n++
		if err := patchConfig(t.Context(), edit, "settings", fmt.Sprintf(`{"data":{"free":"%d"}}`, n), "kubectl-edit"); err != nil {
			t.Fatalf("an edit of a free field: %v", err)
		}
		got, err := admin.CoreV1().ConfigMaps("default").Get(t.Context(), "settings", metav1.GetOptions{})
		return err == nil && got.Data["a"] == "hooked"
	})
	err := patchConfig(t.Context(), edit, "settings", `{"data":{"a":"mine"}}`, "kubectl-edit")
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `from "hooked" to "mine"`) {
		t.Errorf("an edit of an owned field: %v", err)
	}
}
