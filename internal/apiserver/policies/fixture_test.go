package policies_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// fixture is a client of a server.
type fixture struct {
	testing.TB
	server *servertest.Server
	client dynamic.Interface
	// warnings are those of the last patch.
	warnings *recorder
}

// recorder records the warnings of one client.
type recorder struct{ texts []string }

// HandleWarningHeader implements rest.WarningHandler.
func (r *recorder) HandleWarningHeader(_ int, _, text string) { r.texts = append(r.texts, text) }

func start(t testing.TB, config apiserver.Config) *fixture {
	t.Helper()
	f := &fixture{TB: t, server: servertest.Start(t, config)}
	servertest.AwaitAccount(t, f.server.Client(t), "default") // pods use it
	return f.connect(f.server.Config(t))
}

// connect returns the fixture with another client.
func (f *fixture) connect(config *rest.Config) *fixture {
	f.Helper()
	out := &fixture{TB: f.TB, server: f.server, warnings: &recorder{}}
	config.WarningHandler, config.QPS = out.warnings, -1
	var err error
	if out.client, err = dynamic.NewForConfig(config); err != nil {
		f.Fatal(err)
	}
	return out
}

// as returns the fixture with the client of a user.
func (f *fixture) as(user string, groups ...string) *fixture {
	return f.connect(f.server.As(f.TB, user, groups...))
}

// of returns the client of a resource, such as default/configmaps or namespaces.
func (f *fixture) of(resource string) dynamic.ResourceInterface {
	namespace, name, namespaced := strings.Cut(resource, "/")
	if !namespaced {
		namespace, name = "", resource
	}
	gvr, _ := schema.ParseResourceArg(name)
	if gvr == nil {
		gvr = &schema.GroupVersionResource{Version: "v1", Resource: name}
	}
	return f.client.Resource(*gvr).Namespace(namespace)
}

// create creates an object of YAML.
func (f *fixture) create(resource, text string) *unstructured.Unstructured {
	f.Helper()
	created, err := f.of(resource).Create(f.Context(), yamltest.Object(f.TB, text), metav1.CreateOptions{})
	if err != nil {
		f.Fatal(err)
	}
	return created
}

// policy creates a policy with a spec in YAML.
func (f *fixture) policy(name, spec string) {
	f.Helper()
	f.create(policies, fmt.Sprintf("{apiVersion: guard.holdfast.dev/v1beta1, kind: ImmutabilityPolicy, metadata: {name: %s}, spec: %s}", name, spec))
}

// patch sends a merge patch and returns the answer as text.
func (f *fixture) patch(resource, name, patch string, subresources ...string) string {
	f.Helper()
	return outcome(f.tryPatch(resource, name, patch, subresources...))
}

func (f *fixture) tryPatch(resource, name, patch string, subresources ...string) error {
	f.Helper()
	f.warnings.texts = nil
	_, err := f.of(resource).Patch(f.Context(), name, types.MergePatchType, yamltest.JSON(f.TB, patch), metav1.PatchOptions{}, subresources...)
	return err
}

// outcome returns the reason and the message of an error, "ok" for none.
func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	return string(apierrors.ReasonForError(err)) + ": " + err.Error()
}

// want checks that an answer contains a text.
func (f *fixture) want(what, got, want string) {
	f.Helper()
	if want == "ok" && got != want || !strings.Contains(got, want) {
		f.Errorf("%s: %s\nwant %s", what, got, want)
	}
}

// wantStatus waits for the condition Ready of a policy: its status, and a part of its message.
func (f *fixture) wantStatus(policy, ready, message string) {
	f.Helper()
	waittest.Until(f.TB, "status of policy "+policy, func() error {
		found, err := f.of(policies).Get(f.Context(), policy, metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(found.Object, "status", "conditions")
		if len(conditions) == 1 {
			condition, _ := conditions[0].(map[string]any)
			text, _ := condition["message"].(string)
			if condition["status"] == ready && strings.Contains(text, message) && condition["observedGeneration"] == found.GetGeneration() {
				return nil
			}
		}
		text, err := json.Marshal(found.Object["status"])
		return fmt.Errorf("status %s, %w", text, err)
	})
}

const (
	policies    = "immutabilitypolicies.v1beta1.guard.holdfast.dev"
	definitions = "customresourcedefinitions.v1.apiextensions.k8s.io"
	widgets     = "default/widgets.v1.example.com"
	configMaps  = "default/configmaps"
)

const widgetsDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: string}, note: {type: string}, replicas: {type: integer}}}
          status: {type: object, properties: {phase: {type: string}, replicas: {type: integer}}}
  - name: v2
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: string}, replicas: {type: integer}}}
`
