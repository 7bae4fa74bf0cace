package replace_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
