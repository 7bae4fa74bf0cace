package replace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// shared is the server of all tests. It encrypts Secrets.
var shared *servertest.Server

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	servertest.Quiet()
	dir, err := os.MkdirTemp("", "replace-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	const encryption = `
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers: [{aesgcm: {keys: [{name: a, secret: c2VjcmV0IGlzIHNlY3VyZSwgb3IgaXMgaXQ/ISEhISE=}]}}]
`
	file := filepath.Join(dir, "encryption.yaml")
	if err := os.WriteFile(file, []byte(encryption), 0o600); err != nil {
		return 0, err
	}
	if shared, err = servertest.Launch(apiserver.Config{DataDir: filepath.Join(dir, "data"), EncryptionConfig: file}); err != nil {
		return 0, err
	}
	code := m.Run()
	return code, shared.Stop()
}

// cluster has the clients of a user, and a namespace of a test.
type cluster struct{ servertest.Cluster }

func newCluster(t testing.TB) cluster {
	t.Helper()
	c := shared.Cluster(t)
	c.Namespace = servertest.CreateNamespace(t, c, "replace-")
	return cluster{c}
}

// as returns the clients of another user, for the same namespace.
func (c cluster) as(t testing.TB, user string) cluster {
	t.Helper()
	other := servertest.NewCluster(shared.As(t, user))
	other.Namespace = c.Namespace
	return cluster{other}
}

// withoutNamespace are resources of the tests whose objects have no namespace.
var withoutNamespace = []string{
	"namespaces", "persistentvolumes", "customresourcedefinitions", "clusterroles", "clusterrolebindings", "priorityclasses", "storageclasses",
	"ingressclasses", "runtimeclasses", "immutabilitypolicies", "validatingwebhookconfigurations", "mutatingwebhookconfigurations",
	"validatingadmissionpolicies", "validatingadmissionpolicybindings", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
}

// path returns the path of an object, or of its collection for an empty name.
func (c cluster) path(resource schema.GroupVersionResource, name string) string {
	prefix := "/apis/" + resource.Group + "/" + resource.Version
	if resource.Group == "" {
		prefix = "/api/" + resource.Version
	}
	if !slices.Contains(withoutNamespace, resource.Resource) {
		prefix += "/namespaces/" + c.Namespace
	}
	return strings.TrimSuffix(prefix+"/"+resource.Resource+"/"+name, "/")
}

// send sends an object and decodes the answer.
func (c cluster) send(t testing.TB, request *rest.Request, object any) (*unstructured.Unstructured, error) {
	t.Helper()
	body, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return do(t.Context(), request.SetHeader("Content-Type", "application/json").Body(body))
}

// do decodes the answer to a request.
func do(ctx context.Context, request *rest.Request) (*unstructured.Unstructured, error) {
	result := request.Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	answer, err := result.Raw()
	if err != nil {
		return nil, err
	}
	got := &unstructured.Unstructured{}
	return got, got.UnmarshalJSON(answer)
}

// create creates an object that is written in YAML.
func (c cluster) create(t testing.TB, resource schema.GroupVersionResource, text string) *unstructured.Unstructured {
	t.Helper()
	created, err := c.send(t, c.CoreV1().RESTClient().Post().AbsPath(c.path(resource, "")), yamltest.Map(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// replace sends a replacement. The parameters are keys and values.
func (c cluster) replace(
	t testing.TB, resource schema.GroupVersionResource, object *unstructured.Unstructured, parameters ...string,
) (*unstructured.Unstructured, error) {
	t.Helper()
	put := c.CoreV1().RESTClient().Put().AbsPath(c.path(resource, object.GetName())).Param("holdfast", "replace")
	for i := 0; i < len(parameters); i += 2 {
		put = put.Param(parameters[i], parameters[i+1])
	}
	return c.send(t, put, object.Object)
}

// mustReplace is replace for a replacement that succeeds.
func (c cluster) mustReplace(
	t testing.TB, resource schema.GroupVersionResource, object *unstructured.Unstructured, parameters ...string,
) *unstructured.Unstructured {
	t.Helper()
	got, err := c.replace(t, resource, object, parameters...)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (c cluster) get(ctx context.Context, resource schema.GroupVersionResource, name string) (*unstructured.Unstructured, error) {
	return do(ctx, c.CoreV1().RESTClient().Get().AbsPath(c.path(resource, name)))
}

// with returns a copy of an object with a field changed.
func with(t testing.TB, object *unstructured.Unstructured, value any, path ...string) *unstructured.Unstructured {
	t.Helper()
	changed := object.DeepCopy()
	if value == nil {
		unstructured.RemoveNestedField(changed.Object, path...)
		return changed
	}
	if err := unstructured.SetNestedField(changed.Object, value, path...); err != nil {
		t.Fatal(err)
	}
	return changed
}

// defineBoats creates a definition with an immutable field, and waits until it is served.
func defineBoats(t testing.TB, group string) schema.GroupVersionResource {
	t.Helper()
	boats := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "boats"}
	cluster{shared.Cluster(t)}.defineBoats(t, boats)
	return boats
}

func (c cluster) defineBoats(t testing.TB, boats schema.GroupVersionResource) {
	t.Helper()
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	c.create(t, definitions, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.`+boats.Group+`}
spec:
  group: `+boats.Group+`
  scope: Namespaced
  names: {plural: boats, kind: Boat}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, properties: {
        hull: {type: string, x-kubernetes-validations: [{rule: self == oldSelf, message: the hull stays}]},
        sails: {type: integer, default: 2, minimum: 0}}},
      status: {type: object, properties: {afloat: {type: boolean}}}}}}
`)
	waittest.Until(t, "the boats are served", func() error {
		_, err := c.Dynamic.Resource(boats).List(t.Context(), metav1.ListOptions{})
		return err
	})
}

// dynamicInformer returns an informer of the namespace that reads through the API.
func (c cluster) dynamicInformer(resource schema.GroupVersionResource) cache.SharedIndexInformer {
	return dynamicinformer.NewFilteredDynamicInformer(c.Dynamic, resource, c.Namespace, 0, cache.Indexers{}, nil).Informer()
}

// refused checks that an error has a status and a text.
func refused(t testing.TB, name string, err error, code int32, want string) {
	t.Helper()
	status, ok := err.(apierrors.APIStatus)
	if !ok || status.Status().Code != code || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %d with %q", name, err, code, want)
	}
}
