package guard_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/yamltest"
)

// annotatedDefinition has the markers in the annotation, so our server and the guard both know them.
const annotatedDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: ships.example.com
  annotations:
    holdfast.dev/immutability: |
      immutable spec.hull
      addition-only spec.flags
      immutable-keys spec.labels
      deletion-only spec.crew
      immutable spec.masts[*].name
      immutable-keys spec.masts
      v2: immutable spec.sail
spec:
  group: example.com
  scope: Namespaced
  names: {plural: ships, kind: Ship}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: SCHEMA}
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: SCHEMA}
`

const shipSchema = `{type: object, properties: {spec: {type: object, properties: {` +
	`hull: {type: object, properties: {length: {type: integer}, wood: {type: string}}}, sail: {type: string}, ` +
	`flags: {type: array, items: {type: string}, x-kubernetes-list-type: set}, ` +
	`labels: {type: object, additionalProperties: {type: string}}, crew: {type: object, additionalProperties: {type: string}}, ` +
	`masts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], ` +
	`items: {type: object, required: [name], properties: {name: {type: string}, height: {type: integer}}}}}}}}`

// ship is the spec of the object that the writes of TestReplay change.
const ship = `{hull: {length: 12, wood: oak}, sail: white, flags: [a, b], labels: {x: "1"}, crew: {cook: jo}, ` +
	`masts: [{name: main, height: 9}]}`

// TestReplay sends updates to our server, and the same updates as reviews to the guard. The answers must be
// the same byte for byte.
func TestReplay(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.run()
	f.create(definitions, string(bytes.ReplaceAll([]byte(annotatedDefinition), []byte("SCHEMA"), []byte(shipSchema))))
	f.create("default/ships.v1.example.com", `{apiVersion: example.com/v1, kind: Ship, metadata: {name: s}, spec: `+ship+`}`)
	f.guarded("ships")
	refused := 0
	for name, spec := range map[string]string{
		"unchanged":        ship,
		"hull changed":     `{hull: {length: 13, wood: oak}, flags: [a, b], labels: {x: "1"}, masts: [{name: main}]}`,
		"hull removed":     `{flags: [a, b], labels: {x: "1"}, masts: [{name: main}]}`,
		"flags added":      `{hull: {length: 12, wood: oak}, flags: [b, a, c], labels: {x: "2"}, masts: [{name: main}]}`,
		"flags removed":    `{hull: {length: 12, wood: oak}, flags: [b], labels: {x: "1"}, masts: [{name: main}]}`,
		"keys of labels":   `{hull: {length: 12, wood: oak}, flags: [a, b], labels: {y: "1"}, masts: [{name: main}]}`,
		"crew added":       `{hull: {length: 12, wood: oak}, flags: [a, b], labels: {x: "1"}, crew: {cook: jo, mate: al}, masts: [{name: main}]}`,
		"masts":            `{hull: {length: 12, wood: oak}, flags: [a, b], labels: {x: "1"}, masts: [{name: fore}, {name: main, height: 1}]}`,
		"sail, v2 only":    `{hull: {length: 12, wood: oak}, sail: red, flags: [a, b], labels: {x: "1"}, masts: [{name: main}]}`,
		"everything":       `{hull: {length: 1, wood: ash}, sail: red, labels: {y: "1"}, crew: {a: b}, masts: []}`,
		"the whole spec":   `{}`,
		"an integer, long": `{hull: {length: 9007199254740993, wood: oak}, sail: white, flags: [a, b], labels: {x: "1"}, masts: [{name: main}]}`,
	} {
		for _, version := range []string{"v1", "v2"} {
			ofServer, ofGuard := f.both(version, spec)
			if diff := cmp.Diff(string(ofServer), string(ofGuard)); diff != "" {
				t.Errorf("%s in %s (-server +guard):\n%s", name, version, diff)
			}
			if len(ofServer) > 0 {
				refused++
			}
		}
	}
	if refused < 18 {
		t.Errorf("only %d updates were refused", refused)
	}
}

// both sends an update to the server, as a dry run, and to the guard. It returns the Status of each as JSON,
// nothing if the update is accepted.
func (f *fixture) both(version, spec string) (ofServer, ofGuard []byte) {
	f.Helper()
	ships := f.of("default/ships." + version + ".example.com")
	old, err := ships.Get(f.Context(), "s", metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	updated := old.DeepCopy()
	content := yamltest.Map(f, spec)
	updated.Object["spec"] = content
	_, err = ships.Update(f.Context(), updated, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		var status apierrors.APIStatus
		if !errors.As(err, &status) {
			f.Fatal(err)
		}
		ofServer = encode(f.T, withoutType(status.Status()))
	}
	answer := f.review(version, old, updated)
	if !answer.Allowed {
		ofGuard = encode(f.T, withoutType(*answer.Result))
	}
	return ofServer, ofGuard
}

func withoutType(status metav1.Status) metav1.Status {
	status.TypeMeta = metav1.TypeMeta{}
	return status
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// review asks the guard about an update by an administrator.
func (f *fixture) review(version string, oldObj, newObj *unstructured.Unstructured) *admissionv1.AdmissionResponse {
	f.Helper()
	return f.ask(&admissionv1.AdmissionRequest{
		UID: "1", Operation: admissionv1.Update, Namespace: "default", Name: oldObj.GetName(),
		Kind:      metav1.GroupVersionKind{Group: "example.com", Version: version, Kind: "Ship"},
		Resource:  metav1.GroupVersionResource{Group: "example.com", Version: version, Resource: "ships"},
		UserInfo:  authenticationv1.UserInfo{Username: "admin", Groups: []string{"system:masters"}},
		OldObject: runtime.RawExtension{Raw: encode(f.T, oldObj.Object)}, Object: runtime.RawExtension{Raw: encode(f.T, newObj.Object)},
	})
}

// ask sends a review to the guard as an API server does.
func (f *fixture) ask(asked *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	f.Helper()
	status, answered := f.post(f.address(guard.ImmutableWebhook), asked)
	if answered == nil {
		f.Fatal(status)
	}
	return answered
}

// address returns the URL in the webhook configuration.
func (f *fixture) address(webhook string) string {
	f.Helper()
	configurations := f.server.Client(f.T).AdmissionregistrationV1().ValidatingWebhookConfigurations()
	found, err := configurations.Get(f.Context(), guard.Name, metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	for _, one := range found.Webhooks {
		if one.Name == webhook {
			return *one.ClientConfig.URL
		}
	}
	f.Fatalf("no webhook %s", webhook)
	return ""
}

// post sends a review to a URL. It returns the HTTP status, and the answer to the review if there is one.
func (f *fixture) post(url string, asked *admissionv1.AdmissionRequest) (string, *admissionv1.AdmissionResponse) {
	f.Helper()
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: asked,
	}
	secret, err := f.server.Client(f.T).CoreV1().Secrets(guard.Namespace).Get(f.Context(), guard.SecretName, metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(secret.Data["ca.crt"])
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(f.Context(), http.MethodPost, url, bytes.NewReader(encode(f.T, review)))
	if err != nil {
		f.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var answered admissionv1.AdmissionReview
	if response.StatusCode != http.StatusOK {
		return response.Status, nil
	}
	if err := json.NewDecoder(response.Body).Decode(&answered); err != nil {
		f.Fatal(err)
	}
	return response.Status, answered.Response
}

// statusOf returns the Status of a refusal as JSON.
func statusOf(t *testing.T, answer *admissionv1.AdmissionResponse) string {
	t.Helper()
	if answer.Allowed {
		return ""
	}
	return string(encode(t, withoutType(*answer.Result)))
}
