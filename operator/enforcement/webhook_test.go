package enforcement_test

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

	gocmp "github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/operator/authorship"
	"holdfast.dev/holdfast/operator/enforcement"
)

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
	// manager is the user name of the operator controller.
	manager  = "system:serviceaccount:kudo-system:kudo-manager"
	head     = `apiVersion: kudo.dev/v1beta1, kind: Instance`
	annToken = `holdfast.dev/requested-by: '{"username":"ann","groups":["dev"]}'`
	record   = `holdfast.dev/recorded-parameters: '[{"operatorVersion":"tok-0.1.0","parameters":{"TOKENS":"256"}}]'`
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
		converted, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
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
	var got admissionv1.AdmissionReview
	if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil {
		t.Fatalf("%d: %s", answer.Code, answer.Body)
	}
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
	enforcement.NewWebhook(enforcement.Config{
		Versions: versions, Keys: keys, Discloses: annMayGet, Controller: manager,
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

func TestWebhook(t *testing.T) {
	t.Parallel()
	const (
		invalid = `Unprocessable Entity: Instance.kudo.dev "tok" is invalid: `
		// exactly marks a wanted text that is the whole answer, not its beginning.
		exactly = "="
	)
	tests := map[string]struct {
		review
		want string
	}{
		"install": {
			review{operation: "CREATE", newObj: `{` + head + `, metadata: {name: tok}, spec: {operatorVersion: {name: tok-0.1.0}}}`},
			`allowed; add /metadata/annotations {"holdfast.dev/requested-by":"{\"username\":\"ann\"}"}; ` +
				`add /spec/parameters {"TOKENS":"256"}; add /spec/planExecution {"planName":"deploy","uid":"new"}`,
		},
		"install, a client sets the requester": {
			review{
				operation: "CREATE",
				newObj: `{` + head + `, metadata: {name: tok, annotations: {a: b, holdfast.dev/requested-by: '{"username":"root"}'}},
			  spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "256"}}}`,
			},
			`allowed; add /metadata/annotations {"a":"b","holdfast.dev/requested-by":"{\"username\":\"ann\"}"}; ` +
				`add /spec/planExecution {"planName":"deploy","uid":"new"}`,
		},
		"install, by the controller": {
			review{
				operation: "CREATE", user: manager,
				newObj: `{` + head + `, metadata: {name: tok}, spec: {operatorVersion: {name: tok-0.1.0}}}`,
			},
			`allowed; add /metadata/annotations {}; ` +
				`add /spec/parameters {"TOKENS":"256"}; add /spec/planExecution {"planName":"deploy","uid":"new"}`,
		},
		"install, by a user with the name of the controller of our own server": {
			review{
				operation: "CREATE", user: authorship.ControllerUser,
				newObj: `{` + head + `, metadata: {name: tok}, spec: {operatorVersion: {name: tok-0.1.0}}}`,
			},
			`allowed; add /metadata/annotations {"holdfast.dev/requested-by":"{\"username\":\"system:holdfast:operator-controller\"}"}; ` +
				`add /spec/parameters {"TOKENS":"256"}; add /spec/planExecution {"planName":"deploy","uid":"new"}`,
		},
		"no such version": {
			review{operation: "CREATE", newObj: `{` + head + `, metadata: {name: tok}, spec: {operatorVersion: {name: none}}}`},
			invalid + `spec: Forbidden: operator version none does not exist`,
		},
		"an operator version that cannot be read": {
			review{operation: "CREATE", newObj: `{` + head + `, metadata: {name: tok}, spec: {operatorVersion: {name: unreadable}}}`},
			`Internal Server Error: Internal error occurred: the server is away`,
		},
		"all refusals at once": {
			review{operation: "UPDATE", oldObj: stored, newObj: strings.Replace(stored, `{TOKENS: "256"}`, `{TOKENS: "9", NOBODY: "1"}`, 1)},
			invalid + `[spec.parameters[TOKENS]: Forbidden: parameter 'TOKENS' is immutable but was changed from '256' to '9', ` +
				`spec.parameters[NOBODY]: Forbidden: parameter 'NOBODY' is unknown: operator version tok-0.1.0 has no such parameter]`,
		},
		"null is removed": {
			review{operation: "UPDATE", oldObj: stored, newObj: strings.Replace(stored, `{TOKENS: "256"}`, `{TOKENS: null}`, 1)},
			invalid + `spec.parameters[TOKENS]: Forbidden: parameter 'TOKENS' is immutable but was removed (value '256')`,
		},
		"removed, by a user who may not get the instance": {
			review{
				operation: "UPDATE", user: "bob", oldObj: stored, newObj: strings.Replace(stored, `{TOKENS: "256"}`, `{TOKENS: null}`, 1),
			},
			exactly + invalid + `spec.parameters[TOKENS]: Forbidden: parameter 'TOKENS' is immutable but was removed`,
		},
		"changed, by a user who may not get the instance": {
			review{
				operation: "UPDATE", user: "bob", oldObj: stored, newObj: strings.Replace(stored, `{TOKENS: "256"}`, `{TOKENS: "9"}`, 1),
			},
			exactly + invalid + `spec.parameters[TOKENS]: Forbidden: parameter 'TOKENS' is immutable but was changed`,
		},
		"a plan runs, for a user who may not get the instance": {
			review{
				operation: "UPDATE", user: "bob", oldObj: strings.Replace(stored, `{uid: one}`, `{planName: backup, uid: five}`, 1),
				newObj: strings.NewReplacer(
					`{uid: one}`, `{planName: backup, uid: five}`, `{TOKENS: "256"}`, `{TOKENS: "256", CPUS: "2"}`).Replace(stored),
			},
			exactly + `Conflict: Operation cannot be fulfilled on instances.kudo.dev "tok": a plan is running: wait until it has ended`,
		},
		"a lower version, for a user who may not get the instance": {
			review{operation: "UPDATE", user: "bob", oldObj: later, newObj: strings.Replace(later, `{name: tok-0.2.0}`, `{name: tok-0.1.0}`, 1)},
			exactly + invalid + `spec: Forbidden: operator version tok-0.1.0 is lower than the installed one: an upgrade goes to a higher one`,
		},
		"an outdated write is left to the storage": {
			review{
				operation: "UPDATE",
				oldObj:    stored,
				newObj:    strings.NewReplacer(`"7"`, `"6"`, `{TOKENS: "256"}`, `{TOKENS: "9"}`).Replace(stored),
			},
			`allowed`,
		},
		"a resource version with a leading zero is current": {
			review{
				operation: "UPDATE",
				oldObj:    stored,
				newObj:    strings.NewReplacer(`"7"`, `"07"`, `{TOKENS: "256"}`, `{TOKENS: "9"}`).Replace(stored),
			},
			invalid + `spec.parameters[TOKENS]: Forbidden: parameter 'TOKENS' is immutable but was changed from '256' to '9'`,
		},
		"resource version 0": {
			review{
				operation: "UPDATE",
				oldObj:    stored,
				newObj:    strings.NewReplacer(`"7"`, `"0"`, `{TOKENS: "256"}`, `{TOKENS: "9"}`).Replace(stored),
			},
			invalid + `spec.parameters[TOKENS]: Forbidden: parameter 'TOKENS' is immutable but was changed from '256' to '9'`,
		},
		"a label": {
			review{operation: "UPDATE", oldObj: stored, newObj: strings.Replace(stored, `name: tok,`, `name: tok, labels: {a: b},`, 1)}, `allowed`,
		},
		"a plan runs": {
			review{
				operation: "UPDATE", oldObj: strings.Replace(stored, `{uid: one}`, `{planName: backup, uid: five}`, 1),
				newObj: strings.NewReplacer(
					`{uid: one}`, `{planName: backup, uid: five}`, `{TOKENS: "256"}`, `{TOKENS: "256", CPUS: "2"}`).Replace(stored),
			},
			`Conflict: Operation cannot be fulfilled on instances.kudo.dev "tok": plan 'backup' is running: wait until it has ended`,
		},
		"a write of the status is not judged": {
			review{operation: "UPDATE", subresource: "status", oldObj: stored, newObj: strings.Replace(stored, `"256"`, `"9"`, 1)}, `allowed`,
		},
		"deleted": {review{operation: "DELETE", oldObj: stored}, `allowed`},
		"no object": {
			review{operation: "CREATE"}, `Bad Request: review: request.object: required`,
		},
		"a spec of another type": {
			review{operation: "CREATE", newObj: `{` + head + `, metadata: {name: tok}, spec: 3}`},
			`Bad Request: instance tok: `,
		},
		"upgrade without consent": {
			review{operation: "UPDATE", oldObj: stored, newObj: strings.Replace(stored, `tok-0.1.0`, `tok-0.2.0`, 1)},
			invalid + `spec.parameters[CPUS]: Forbidden: parameter 'CPUS' was changed to immutable in operator version 0.2.0 but no value ` +
				`was provided`,
		},
		"rollback": {
			review{operation: "UPDATE", oldObj: later, newObj: rolledBack},
			`allowed; add /metadata/annotations {"holdfast.dev/requested-by":"{\"username\":\"ann\"}"}; ` +
				`add /spec/parameters {"TOKENS":"256"}; add /spec/planExecution {"planName":"deploy","uid":"new"}`,
		},
		"a lower version without the annotation": {
			review{operation: "UPDATE", oldObj: later, newObj: strings.Replace(later, `{name: tok-0.2.0}`, `{name: tok-0.1.0}`, 1)},
			invalid + `spec: Forbidden: operator version tok-0.1.0 is lower than tok-0.2.0`,
		},
		"a lower version, by an object without annotations": {
			review{
				operation: "UPDATE",
				oldObj:    later,
				newObj:    `{` + head + `, metadata: {name: tok}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "256"}}}`,
			},
			invalid + `spec: Forbidden: operator version tok-0.1.0 is lower than tok-0.2.0`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.path, test.resource = enforcement.MutatePath, "instances"
			got := summary(t, test.ask(t))
			want, isWhole := strings.CutPrefix(test.want, exactly)
			if !strings.HasPrefix(got, want) || (isWhole || strings.HasPrefix(want, "allowed")) && got != want {
				t.Errorf("answer (-want +got):\n%s", gocmp.Diff(want, got))
			}
		})
	}
}

// TestBadReviews checks the responses to requests that are not reviews.
func TestBadReviews(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		contentType, body, want string
	}{
		"another content type": {"text/plain", `{}`, `content type "text/plain": must be application/json`},
		"not JSON":             {"application/json", `{`, `review: unexpected EOF`},
		"another version": {
			"application/json",
			`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1"}`,
			`must be AdmissionReview of admission.k8s.io/v1`,
		},
		"no request": {
			"application/json; charset=utf-8",
			`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`,
			`review: request: required`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := post(t, enforcement.MutatePath, test.contentType, []byte(test.body))
			if answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), test.want) {
				t.Errorf("%d: %s", answer.Code, answer.Body)
			}
		})
	}
}

// FuzzWebhook sends any body and expects either status 400 or a well-formed response
// with the UID of the request.
func FuzzWebhook(f *testing.F) {
	f.Add([]byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"CREATE",` +
		`"resource":{"group":"kudo.dev","resource":"instances"},"object":{"kind":"Instance","spec":{"operatorVersion":{"name":"tok-0.1.0"}}}}}`))
	f.Add([]byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"UPDATE",` +
		`"resource":{"group":"kudo.dev","resource":"instances"},"object":{"kind":"Instance","spec":null},"oldObject":{"kind":"Instance",` +
		`"metadata":null}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range []string{enforcement.MutatePath, enforcement.ValidatePath} {
			answer := post(t, path, "application/json", body)
			if answer.Code == http.StatusBadRequest {
				continue
			}
			var got admissionv1.AdmissionReview
			if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || got.Response == nil {
				t.Fatalf("%d: %s", answer.Code, answer.Body)
			}
			hasUID := bytes.Contains(body, []byte(`"uid":"u"`))
			if got.Response.Allowed == (got.Response.Result != nil) || got.Response.UID == types.UID("") && hasUID {
				t.Fatalf("answer: %s", answer.Body)
			}
		}
	})
}
