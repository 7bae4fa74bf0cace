package apiserver_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestKeysDoNotCollide checks the keys of all objects and internal records in etcd. The first
// part of each key is the resource of a built-in kind, an API group that a definition can
// have, or a name that neither can have. A definition with the name of the internal records
// works like any other.
func TestKeysDoNotCollide(t *testing.T) {
	t.Parallel()
	address := servertest.StartEtcd(t, transport.TLSInfo{})
	config := servertest.Start(t, apiserver.Config{Etcd: etcd.Cluster{Servers: []string{address}}}).Config(t)
	writeEverything(t, config)
	commands := defineCommands(t, config)

	store, err := clientv3.New(clientv3.Config{Endpoints: []string{address}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	keys := func(prefix string) (found []string) {
		response, err := store.Get(t.Context(), prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
		if err != nil {
			t.Fatal(err)
		}
		for _, pair := range response.Kvs {
			found = append(found, string(pair.Key))
		}
		return found
	}
	waittest.Until(t, "the command is recorded", func() bool { return len(keys("/registry/_holdfast/commands/")) > 0 })
	if list, err := commands.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 1 {
		t.Errorf("objects of the definition: %v, %v", list, err)
	}

	var internal []string
	for _, key := range keys("/registry/") {
		first := strings.Split(key, "/")[2]
		isResource := slices.ContainsFunc(native.Kinds(), func(kind native.Kind) bool { return kind.Resource == first })
		// Package definition refuses a group without a dot.
		isGroup := len(validation.IsDNS1123Subdomain(first)) == 0 && strings.Contains(first, ".")
		switch {
		case isResource && isGroup:
			t.Errorf("%s may be the key of a built-in kind and of a custom resource", key)
		case !isResource && !isGroup && !slices.Contains(internal, first):
			internal = append(internal, first)
		}
		if isGroup && first != "apiextensions.k8s.io" && first != "holdfast.dev" && first != "kudo.dev" {
			t.Errorf("%s is below a group that a definition may have", key)
		}
	}
	if got := fmt.Sprint(internal); got != "[_holdfast nodeports]" {
		t.Errorf("internal records are below %s", got)
	}
}

// writeEverything creates objects for which the server keeps records of its own.
func writeEverything(t *testing.T, config *rest.Config) {
	t.Helper()
	client := kubernetes.NewForConfigOrDie(config)
	if _, err := client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "labelled"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kubectl := rest.CopyConfig(config)
	kubectl.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return withCommand{next}
	})
	if _, err := kubernetes.NewForConfigOrDie(kubectl).CoreV1().ConfigMaps("default").Patch(t.Context(), "labelled",
		types.MergePatchType, []byte(`{"data":{"a":"b"}}`), metav1.PatchOptions{FieldManager: "kubectl-patch"}); err != nil {
		t.Fatal(err)
	}
}

// withCommand sends requests as "kubectl patch" does.
type withCommand struct{ next http.RoundTripper }

func (w withCommand) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Kubectl-Command", "kubectl patch")
	return w.next.RoundTrip(request)
}

// defineCommands creates the definition commands.holdfast.dev and an object of it.
func defineCommands(t *testing.T, config *rest.Config) dynamic.ResourceInterface {
	t.Helper()
	client := dynamic.NewForConfigOrDie(config)
	object := func(version, kind, name string, fields map[string]any) *unstructured.Unstructured {
		fields["apiVersion"], fields["kind"] = version, kind
		fields["metadata"] = map[string]any{"name": name}
		return &unstructured.Unstructured{Object: fields}
	}
	definitions := client.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	})
	spec := map[string]any{
		"group": "holdfast.dev", "scope": "Cluster", "names": map[string]any{"plural": "commands", "kind": "Command"},
		"versions": []any{map[string]any{
			"name": "v1", "served": true, "storage": true,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
		}},
	}
	definition := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "commands.holdfast.dev", map[string]any{"spec": spec})
	if _, err := definitions.Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	commands := client.Resource(schema.GroupVersionResource{Group: "holdfast.dev", Version: "v1", Resource: "commands"})
	created := object("holdfast.dev/v1", "Command", "mine", map[string]any{})
	if _, err := commands.Create(t.Context(), created, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return commands
}
