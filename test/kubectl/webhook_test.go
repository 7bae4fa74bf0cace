package kubectl_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"

	"github.com/rogpeppe/go-internal/testscript"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// startWebhook is the script command webhook: it starts an admission webhook
// and tells the script in WEBHOOK_URL and WEBHOOK_CA where it is and which
// certificate it has. /deny refuses everything, /label adds a label, /warn lets
// pass with a warning.
func startWebhook(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: webhook")
	}
	server := httptest.NewTLSServer(http.HandlerFunc(review))
	ts.Defer(server.Close)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	ts.Setenv("WEBHOOK_URL", server.URL)
	ts.Setenv("WEBHOOK_CA", base64.StdEncoding.EncodeToString(certificate))
}

func review(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	switch r.URL.Path {
	case "/deny":
		answer.Allowed = false
		answer.Result = &metav1.Status{Message: string(review.Request.Operation) + " of " + review.Request.Name + " is not for " + review.Request.UserInfo.Username}
	case "/label":
		patch := admissionv1.PatchTypeJSONPatch
		answer.PatchType = &patch
		answer.Patch = []byte(`[{"op": "add", "path": "/metadata/labels", "value": {"from": "webhook"}}]`)
	case "/warn":
		answer.Warnings = []string{"the webhook has seen " + review.Request.Name}
	}
	review.Response, review.Request = answer, nil
	w.Header().Set("Content-Type", "application/json")
	// A client that has gone needs no answer.
	_ = json.NewEncoder(w).Encode(review)
}
