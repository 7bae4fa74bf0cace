package manager_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/admission/instance"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/othercluster/manager"
	"holdfast.dev/holdfast/internal/yamltest"
)

const version = `
apiVersion: kudo.dev/v1beta1
kind: OperatorVersion
metadata: {name: tok-0.1.0}
spec:
  operator: {name: tok}
  version: 0.1.0
  plans: {deploy: {phases: []}}
  parameters: [{name: TOKENS, default: "256", immutable: true}, {name: CPUS, default: "1"}]
`

// versions returns the OperatorVersions of operator tok. Version 0.2.0 makes CPUS
// immutable.
func versions(_ context.Context, _, name string) (*api.OperatorVersion, error) {
	text := map[string]string{"tok-0.1.0": version, "tok-0.2.0": `
metadata: {name: tok-0.2.0}
spec:
  operator: {name: tok}
  version: 0.2.0
  plans: {deploy: {phases: []}}
  parameters: [{name: TOKENS, default: "256", immutable: true}, {name: CPUS, default: "1", immutable: true}]
`}[name]
	switch {
	case name == "unreadable":
		return nil, errors.New("the server is away")
	case text == "":
		return nil, nil
	}
	found := &api.OperatorVersion{}
	return found, yaml.Unmarshal([]byte(text), found)
}

// annMayGet says that the user ann may get Instances, and no other user.
func annMayGet(_ context.Context, user authorship.User, _ types.NamespacedName) bool {
	return user.Username == "ann"
}

var keys = authorship.NewKeyring(func(context.Context) ([][]byte, error) {
	return [][]byte{make([]byte, authorship.KeySize)}, nil
})

const (
	// controllerUser is the user name of the operator controller.
	controllerUser = "system:serviceaccount:kudo-system:kudo-manager"
	head           = `apiVersion: kudo.dev/v1beta1, kind: Instance`
	annToken       = `holdfast.dev/requested-by: '{"username":"ann","groups":["dev"]}'`
	record         = `holdfast.dev/recorded-parameters: '[{"operatorVersion":"tok-0.1.0","parameters":{"TOKENS":"256"}}]'`
	// stored is an Instance without a running plan; later is the same after an upgrade.
	stored = `{` + head + `, metadata: {name: tok, resourceVersion: "7", annotations: {` + annToken + `}},
  spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "256"}, planExecution: {uid: one}},
  status: {planStatus: {deploy: {status: COMPLETE, uid: one}}}}`
	later = `{` + head + `, metadata: {name: tok, annotations: {` + annToken + `, ` + record + `}},
  spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "256", CPUS: "2"}, planExecution: {uid: two}},
  status: {planStatus: {deploy: {status: COMPLETE, uid: two}}}}`
)

// rolledBack is the write that rolls the upgraded Instance back.
var rolledBack = strings.NewReplacer(
	`tok-0.2.0`, `tok-0.1.0`, record, record+`, holdfast.dev/rollback-to: tok-0.1.0`).Replace(later)

// review is an admission review of the Instance tok, with objects as YAML.
type review struct {
	path, resource, operation, oldObj, newObj string
	subresource                               string
	// user makes the write; "" means ann.
	user string
}

// ask sends the review and returns the response.
func (r review) ask(t *testing.T) *admissionv1.AdmissionResponse {
	t.Helper()
	raw := func(text string) runtime.RawExtension {
		if text == "" {
			return runtime.RawExtension{}
		}
		converted := yamltest.JSON(t, text)
		return runtime.RawExtension{Raw: converted}
	}
	kind := map[string]string{"instances": "Instance", "operatorversions": "OperatorVersion"}[r.resource]
	sent := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID:         "review",
			Kind:        metav1.GroupVersionKind{Group: "kudo.dev", Version: "v1beta1", Kind: kind},
			Resource:    metav1.GroupVersionResource{Group: "kudo.dev", Version: "v1beta1", Resource: r.resource},
			SubResource: r.subresource, Name: "tok", Namespace: "default", Operation: admissionv1.Operation(r.operation),
			UserInfo: authenticationv1.UserInfo{Username: cmp.Or(r.user, "ann"), Groups: []string{"dev"}},
			Object:   raw(r.newObj), OldObject: raw(r.oldObj),
		},
	}
	body, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	answer := post(t, r.path, "application/json", body)
	got := *yamltest.Known[admissionv1.AdmissionReview](t, answer.Body.Bytes())
	if got.Response == nil || got.Response.UID != "review" || got.Kind != "AdmissionReview" || got.APIVersion != "admission.k8s.io/v1" {
		t.Fatalf("answer: %s", answer.Body)
	}
	return got.Response
}

func post(t testing.TB, path, contentType string, body []byte) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(body))
	request.Header.Set("Content-Type", contentType)
	recorder := httptest.NewRecorder()
	manager.NewWebhook(instance.Config{
		Versions: versions, Keys: keys, Discloses: annMayGet, Controller: controllerUser,
	}).ServeHTTP(recorder, request)
	return recorder
}

// summary formats a response as one line: the refusal, or the patch without the values
// that differ from run to run.
func summary(t *testing.T, answer *admissionv1.AdmissionResponse) string {
	t.Helper()
	if !answer.Allowed {
		return http.StatusText(int(answer.Result.Code)) + ": " + answer.Result.Message
	}
	var operations []struct {
		Op, Path string
		Value    map[string]any
	}
	if len(answer.Patch) > 0 {
		if *answer.PatchType != admissionv1.PatchTypeJSONPatch {
			t.Errorf("patch type %s", *answer.PatchType)
		}
		if err := json.Unmarshal(answer.Patch, &operations); err != nil {
			t.Fatal(err)
		}
	}
	parts := []string{"allowed"}
	for _, operation := range operations {
		if uid, _ := operation.Value["uid"].(string); len(uid) == 36 {
			operation.Value["uid"] = "new"
		}
		for _, name := range []string{api.BindingAnnotation, api.SealedRecordAnnotation, api.SealedHistoryAnnotation} {
			delete(operation.Value, name)
		}
		value, err := json.Marshal(operation.Value)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, operation.Op+" "+operation.Path+" "+string(value))
	}
	return strings.Join(parts, "; ")
}
