package kubectl_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	admissionv1 "k8s.io/api/admission/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// startWebhook is the script command webhook. It starts an admission webhook and
// sets WEBHOOK_URL to its address and WEBHOOK_CA to its certificate. The paths:
//
//	/deny      refuses every request
//	/label     adds a label
//	/warn      accepts with a warning
//	/serial    sets spec.serial
//	/unknown   sets spec.unknown
//	/known     refuses an object with spec.unknown
//	/convert   converts custom resources: spec.name in v1 is spec.title in other versions
func startWebhook(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: webhook")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", review)
	mux.HandleFunc("/convert", convert)
	server := httptest.NewTLSServer(mux)
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
		answer.Result = &metav1.Status{Message: fmt.Sprintf("%s of %s is not for %s",
			review.Request.Operation, review.Request.Name, review.Request.UserInfo.Username)}
	case "/label":
		patch(answer, `[{"op": "add", "path": "/metadata/labels", "value": {"from": "webhook"}}]`)
	case "/serial":
		patch(answer, `[{"op": "add", "path": "/spec/serial", "value": "from the webhook"}]`)
	case "/unknown":
		patch(answer, `[{"op": "add", "path": "/spec/unknown", "value": {"from": "webhook"}}]`)
	case "/known":
		if bytes.Contains(review.Request.Object.Raw, []byte(`"unknown"`)) {
			answer.Allowed = false
			answer.Result = &metav1.Status{Message: "there is an unknown field"}
		}
	case "/warn":
		answer.Warnings = []string{"the webhook has seen " + review.Request.Name}
	}
	review.Response, review.Request = answer, nil
	reply(w, review)
}

func patch(answer *admissionv1.AdmissionResponse, operations string) {
	kind := admissionv1.PatchTypeJSONPatch
	answer.PatchType, answer.Patch = &kind, []byte(operations)
}

func convert(w http.ResponseWriter, r *http.Request) {
	var review apiextensionsv1.ConversionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer := &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, raw := range review.Request.Objects {
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(raw.Raw); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		from, to := "name", "title"
		if strings.HasSuffix(review.Request.DesiredAPIVersion, "/v1") {
			from, to = to, from
		}
		if spec, ok := obj.Object["spec"].(map[string]any); ok && spec[from] != nil {
			spec[to] = spec[from]
			delete(spec, from)
		}
		obj.SetAPIVersion(review.Request.DesiredAPIVersion)
		answer.ConvertedObjects = append(answer.ConvertedObjects, runtime.RawExtension{Object: obj})
	}
	review.Response, review.Request = answer, nil
	reply(w, review)
}

func reply(w http.ResponseWriter, review any) {
	w.Header().Set("Content-Type", "application/json")
	// An error means that the client has gone.
	_ = json.NewEncoder(w).Encode(review)
}
