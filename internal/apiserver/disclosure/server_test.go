package disclosure_test

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// client sends requests as one user.
type client struct {
	http *http.Client
	host string
}

func newClient(t *testing.T, config *rest.Config) client {
	t.Helper()
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return client{httpClient, config.Host}
}

// call is one request. The body is YAML.
type call struct{ method, path, command, body string }

// media are the media types of the methods, of which two are kinds of PATCH.
var media = map[string][2]string{
	"POST": {"POST", "application/json"}, "PUT": {"PUT", "application/json"},
	"MERGE": {"PATCH", "application/merge-patch+json"}, "JSON": {"PATCH", "application/json-patch+json"},
	"STRATEGIC": {"PATCH", "application/strategic-merge-patch+json"}, "GET": {"GET", "application/json"},
}

// current returns the call with the resourceVersion of its object in place of VERSION.
func (r call) current(t *testing.T, root client) call {
	t.Helper()
	if !strings.Contains(r.body, "VERSION") {
		return r
	}
	object := *yamltest.Known[metav1.PartialObjectMetadata](t, root.send(t, call{"GET", r.path, "", ""}).body)
	r.body = strings.ReplaceAll(r.body, "VERSION", object.ResourceVersion)
	return r
}

// answer is the part of a response that explains it.
type answer struct {
	code     int
	message  string
	causes   []string
	warnings []string
	// body is the whole body.
	body string
}

func (c client) send(t *testing.T, r call) answer {
	t.Helper()
	body := yamltest.JSON(t, r.body)
	sent := media[r.method]
	req, err := http.NewRequestWithContext(t.Context(), sent[0], c.host+r.path, strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", sent[1])
	if r.command != "" {
		req.Header.Set("Kubectl-Command", r.command)
	}
	return c.do(t, req)
}

// do sends a request and returns its answer.
func (c client) do(t *testing.T, req *http.Request) answer {
	t.Helper()
	resp, err := c.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := answer{code: resp.StatusCode, body: string(data)}
	for _, line := range resp.Header.Values("Warning") {
		text, err := strconv.Unquote(strings.TrimPrefix(line, "299 - "))
		if err != nil {
			t.Fatal(err)
		}
		got.warnings = append(got.warnings, text)
	}
	var status metav1.Status
	if err := json.Unmarshal(data, &status); err == nil && status.Kind == "Status" {
		got.message = status.Message
		if status.Details != nil {
			for _, cause := range status.Details.Causes {
				got.causes = append(got.causes, cause.Field+": "+cause.Message)
			}
		}
	}
	return got
}

// text returns the code, the message, the causes that the message does not contain, and the
// warnings.
func (a answer) text() string {
	lines := []string{strconv.Itoa(a.code)}
	if a.message != "" {
		lines[0] += " " + a.message
	}
	for _, cause := range a.causes {
		if !strings.Contains(a.message, cause) {
			lines = append(lines, "cause: "+cause)
		}
	}
	for _, line := range a.warnings {
		lines = append(lines, "warning: "+line)
	}
	return strings.Join(lines, "\n")
}

// told returns all that explains the answer: the warnings, and the body of a refusal.
func (a answer) told() string {
	told := strings.Join(a.warnings, "\n")
	if a.code >= http.StatusBadRequest {
		told += a.body
	}
	return told
}

// storedValue matches the values of the stored objects, but not the words of the messages.
var storedValue = regexp.MustCompile("stored|1270170127|c3RvcmVk")

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// The objects that exist before the table runs. The values that only a reader may see begin
// with "stored", or are 1270170127.
var objects = []call{
	{"POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "", `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.disclosure.example.com}
spec:
  group: disclosure.example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: string, x-kubernetes-immutable: true}
              list: {type: array, items: {type: string}, x-kubernetes-immutable: true}
              replicas: {type: integer, x-kubernetes-immutable: true}
              fixed: {type: string, x-kubernetes-validations: [{rule: self == oldSelf, message: fixed stays}]}
              told: {type: string, x-kubernetes-validations: [{rule: self == oldSelf, messageExpression: "'was ' + oldSelf"}]}
          status: {type: object, properties: {phase: {type: string, x-kubernetes-immutable: true}}}
`},
	{"POST", "/apis/disclosure.example.com/v1/namespaces/default/things", "", `
{apiVersion: disclosure.example.com/v1, kind: Thing, metadata: {name: o},
 spec: {size: stored, list: [stored-a, stored-b], replicas: 1270170127, fixed: stored, told: stored-told}}`},
	{"MERGE", "/apis/disclosure.example.com/v1/namespaces/default/things/o/status", "", `{status: {phase: stored}}`},
	{"POST", "/apis/apps/v1/namespaces/default/deployments", "", `
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, annotations: {` + lastApplied + `:
  '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":1270170127}}'}},
 spec: {replicas: 1270170127, selector: {matchLabels: {app: stored}}, template: {metadata: {labels: {app: stored}},
   spec: {containers: [{name: web, image: stored}]}}}}`},
	{"POST", "/apis/batch/v1/namespaces/default/jobs", "", `
{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {template: {
   spec: {restartPolicy: Never, containers: [{name: once, image: stored, env: [{name: A, value: stored-env}]}]}}}}`},
	{"POST", "/api/v1/namespaces/default/configmaps", "", `
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, annotations: {` + lastApplied + `:
  '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"a":"stored-applied"}}'}}, data: {a: stored-live}}`},
	{"POST", "/api/v1/namespaces/default/configmaps", "", `
{apiVersion: v1, kind: ConfigMap, metadata: {name: malformed, annotations: {` + lastApplied + `:
  '{"data": {"stored-key": 1}, "stored": 1}'}}}`},
	{"POST", "/api/v1/namespaces/default/configmaps", "", `
{apiVersion: v1, kind: ConfigMap, metadata: {name: sealed}, immutable: true, data: {a: stored}}`},
	{"POST", "/api/v1/namespaces/default/secrets", "", `
{apiVersion: v1, kind: Secret, metadata: {name: keys, annotations: {` + lastApplied + `:
  '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"keys"},"data":{"a":"c3RvcmVk"}}'}}, data: {a: c3RvcmVk}}`},
	{"POST", "/api/v1/namespaces/default/pods", "", `
{apiVersion: v1, kind: Pod, metadata: {name: bound}, spec: {nodeName: stored, containers: [{name: a, image: b}]}}`},
	{"POST", "/apis/kudo.dev/v1beta1/namespaces/default/operatorversions", "", `
{apiVersion: kudo.dev/v1beta1, kind: OperatorVersion, metadata: {name: tok-0.1.0}, spec: {operator: {name: tok}, version: 0.1.0,
 plans: {deploy: {phases: []}}, parameters: [{name: TOKENS, immutable: true}]}}`},
	{"POST", "/apis/kudo.dev/v1beta1/namespaces/default/instances", "", `
{apiVersion: kudo.dev/v1beta1, kind: Instance, metadata: {name: tok},
 spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: stored}}}`},
}

// The users of the table. Each may update and patch everything.
const (
	writer      = "writer"       // may get nothing
	reader      = "reader"       // may get everything
	scaleReader = "scale-reader" // may get the scale of a Deployment
)

// grant creates the roles of the users, and waits until they have an effect.
func grant(t *testing.T, server *servertest.Server) {
	t.Helper()
	write := rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"update", "patch"}}
	bind := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/binding"}, Verbs: []string{"create"}}
	for name, get := range map[string]rbacv1.PolicyRule{
		writer:      {APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"get"}},
		reader:      {APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get"}},
		scaleReader: {APIGroups: []string{"apps"}, Resources: []string{"deployments/scale"}, Verbs: []string{"get"}},
	} {
		roles := server.Client(t).RbacV1()
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{write, bind, get}}
		if _, err := roles.ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}},
		}
		if _, err := roles.ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		user := newClient(t, server.As(t, name))
		waittest.Until(t, "the role of "+name+" has an effect", func() bool {
			return user.send(t, call{"MERGE", "/api/v1/namespaces/default/configmaps/none", "", "{}"}).code == http.StatusNotFound
		})
	}
}

// TestValuesInMessages sends each write twice: as a user with the right to get the object, and as
// a user without it.
func TestValuesInMessages(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	root := newClient(t, server.Config(t))
	for _, object := range objects {
		waittest.Until(t, "POST "+object.path, func() bool {
			code := root.send(t, object).code
			return code == http.StatusCreated || code == http.StatusOK
		})
	}
	grant(t, server)
	users := map[string]client{}
	for _, name := range []string{writer, reader, scaleReader} {
		users[name] = newClient(t, server.As(t, name))
	}
	for name, test := range messages() {
		t.Run(name, func(t *testing.T) {
			for user, want := range map[string]string{reader: test.shown, writer: test.hidden, scaleReader: test.ofScale} {
				if want == "" {
					continue
				}
				got := users[user].send(t, test.current(t, root))
				if !matches(want, got.text()) {
					t.Errorf("%s (-want +got):\n%s", user, cmp.Diff(want, got.text()))
				}
				if told := got.told(); user == writer && !test.authors && storedValue.MatchString(told) {
					t.Errorf("%s reads a stored value: %s", user, told)
				}
			}
		})
	}
}
