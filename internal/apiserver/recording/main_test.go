package recording_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/recording"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/fieldhistory"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/value"
)

func TestMain(m *testing.M) { os.Exit(servertest.ProcessMain(m)) }

var (
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	secrets     = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	boats       = schema.GroupVersionResource{Group: "recording.example.com", Version: "v1", Resource: "boats"}
)

// fixture is a server on an etcd that the test reads too.
type fixture struct {
	testing.TB
	servertest.Cluster
	server *servertest.Server
	etcd   *clientv3.Client
	store  etcd.Cluster
}

// start starts a server on an etcd of its own.
func start(t testing.TB, config apiserver.Config) fixture {
	t.Helper()
	address := servertest.StartEtcd(t, transport.TLSInfo{})
	config.Etcd = etcd.Cluster{Servers: []string{address}}
	return startOn(t, config)
}

// startOn starts a server on the etcd of a configuration.
func startOn(t testing.TB, config apiserver.Config) fixture {
	t.Helper()
	f := fixture{TB: t, server: servertest.Start(t, config), store: config.Etcd}
	f.Cluster = f.server.Cluster(t)
	var err error
	if f.etcd, err = clientv3.New(clientv3.Config{Endpoints: config.Etcd.Servers, Logger: zap.NewNop()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.etcd.Close() })
	return f
}

// create creates an object in the namespace default, unless it names another one.
func (f fixture) create(resource schema.GroupVersionResource, text string) *unstructured.Unstructured {
	f.Helper()
	obj := yamltest.Object(f, text)
	client := f.Dynamic.Resource(resource).Namespace(obj.GetNamespace())
	if obj.GetNamespace() == "" && resource != namespaces && resource != definitions {
		client = f.Dynamic.Resource(resource).Namespace(f.Namespace)
	}
	created, err := client.Create(f.Context(), obj, metav1.CreateOptions{})
	if err != nil {
		f.Fatal(err)
	}
	return created
}

// patch sends a JSON merge patch.
func (f fixture) patch(resource schema.GroupVersionResource, name, patch string, subresources ...string) *unstructured.Unstructured {
	f.Helper()
	client := f.Dynamic.Resource(resource).Namespace(f.Namespace)
	if resource == namespaces {
		client = f.Dynamic.Resource(resource).Namespace("")
	}
	patched, err := client.Patch(f.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "test"}, subresources...)
	if err != nil {
		f.Fatal(err)
	}
	return patched
}

// replace replaces a ConfigMap by a new object with the same name.
func (f fixture) replace(object *unstructured.Unstructured) *unstructured.Unstructured {
	f.Helper()
	got, err := f.replaced(f.Context(), object)
	if err != nil {
		f.Fatal(err)
	}
	return got
}

// replaced is replace, and returns an error.
func (f fixture) replaced(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	body, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	answer, err := f.CoreV1().RESTClient().Put().AbsPath(pathOf(configMaps, object.GetName())).Param("holdfast", "replace").
		SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	got := &unstructured.Unstructured{}
	return got, got.UnmarshalJSON(answer)
}

// remove deletes an object.
func (f fixture) remove(resource schema.GroupVersionResource, name string) {
	f.Helper()
	if err := f.Dynamic.Resource(resource).Namespace(f.Namespace).Delete(f.Context(), name, metav1.DeleteOptions{}); err != nil {
		f.Fatal(err)
	}
}

// pathOf returns the path of an object in the namespace default.
func pathOf(resource schema.GroupVersionResource, name string) string {
	prefix := "/apis/" + resource.Group
	if resource.Group == "" {
		prefix = "/api"
	}
	return prefix + "/" + resource.Version + "/namespaces/default/" + resource.Resource + "/" + name
}

// read reads the history at a path as a user.
func read(ctx context.Context, config *rest.Config, path, uid string) (list fieldhistory.List, text []byte, err error) {
	client, err := rest.UnversionedRESTClientFor(withCodec(config))
	if err != nil {
		return list, nil, err
	}
	request := client.Get().AbsPath(path).Param("holdfast", "history")
	if uid != "" {
		request.Param(fieldhistory.UIDParameter, uid)
	}
	text, err = request.DoRaw(ctx)
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err == nil && (list.Kind != fieldhistory.ListKind || list.APIVersion != fieldhistory.ListVersion) {
		err = fmt.Errorf("the answer is %s", text)
	}
	return list, text, err
}

// history reads the history of an object.
func (f fixture) history(resource schema.GroupVersionResource, name string) fieldhistory.List {
	f.Helper()
	list, _, err := read(f.Context(), f.Config, pathOf(resource, name), "")
	if err != nil {
		f.Fatal(err)
	}
	return list
}

// keys returns the keys of all entries.
func (f fixture) keys() []string {
	f.Helper()
	found, err := f.etcd.Get(f.Context(), recording.Prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		f.Fatal(err)
	}
	var keys []string
	for _, pair := range found.Kvs {
		keys = append(keys, string(pair.Key))
	}
	return keys
}

// shown has a line for each entry, with its changes.
func shown(list fieldhistory.List) string {
	var lines []string
	side := func(value json.RawMessage, hash *fieldhistory.Hash) string {
		switch {
		case hash != nil && hash.HMAC != "":
			return fmt.Sprintf("hmac %d", hash.Size)
		case hash != nil:
			return fmt.Sprintf("sha256 %d", hash.Size)
		case value == nil:
			return "none"
		}
		return string(value)
	}
	for _, e := range list.Items {
		line := fmt.Sprintf("%d %s", e.Number, e.Operation)
		if e.Truncated {
			line += " truncated"
		}
		for _, c := range e.Changes {
			line += fmt.Sprintf(" %s: %s -> %s", c.Path, side(c.From, c.FromHash), side(c.To, c.ToHash))
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// states are the contents of one object by their resourceVersions.
type states map[string]map[string]any

func (s states) add(obj *unstructured.Unstructured) {
	s[obj.GetResourceVersion()] = fieldhistory.Content(obj.Object)
}

// check takes an object back, entry by entry, and compares it with what was stored after each entry.
func (s states) check(list fieldhistory.List, current map[string]any) error {
	content := fieldhistory.Content(current)
	for i, entry := range slices.Backward(list.Items) {
		if number := list.Items[0].Number + int64(i); entry.Number != number {
			return fmt.Errorf("entry %d has the number %d", number, entry.Number)
		}
		// The entry of a replaced object has the revision of the new one.
		was, ok := s[entry.ResourceVersion]
		if ok && !entry.Truncated && entry.Operation != fieldhistory.Delete && !fieldhistory.Matches(was, content) {
			return fmt.Errorf("after entry %d, at %s:\n%v\nhistory has:\n%v", entry.Number, entry.ResourceVersion, was, content)
		}
		before, err := fieldhistory.Revert(content, entry)
		switch {
		case errors.Is(err, fieldhistory.ErrTruncated):
			return nil
		case err != nil:
			return err
		}
		content = before
	}
	return nil
}

// checkSeals compares the HMACs in a history with the values that were stored: equal values have equal HMACs, and others have others.
func (s states) checkSeals(list fieldhistory.List) error {
	values, seals := map[string]string{}, map[string]string{}
	for _, entry := range list.Items {
		was, ok := s[entry.ResourceVersion]
		if !ok {
			continue
		}
		for _, change := range entry.Changes {
			if change.ToHash == nil || change.ToHash.HMAC == "" {
				continue
			}
			path, err := value.ParsePath(change.Path)
			if err != nil {
				return err
			}
			text, seal := fmt.Sprint(fieldhistory.At(was, path)), change.ToHash.HMAC
			if known, ok := values[seal]; ok && known != text {
				return fmt.Errorf("entry %d: %s has the HMAC of another value", entry.Number, change.Path)
			}
			if known, ok := seals[text]; ok && known != seal {
				return fmt.Errorf("entry %d: %s has another HMAC than an equal value", entry.Number, change.Path)
			}
			values[seal], seals[text] = text, seal
		}
	}
	return nil
}

// awaitResource waits until a server serves a resource.
func (f fixture) awaitResource(resource schema.GroupVersionResource) {
	f.Helper()
	waittest.Until(f, resource.String(), func() error {
		_, err := f.Dynamic.Resource(resource).List(f.Context(), metav1.ListOptions{})
		return err
	})
}

func withCodec(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return config
}
