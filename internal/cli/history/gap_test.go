package history_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"holdfast.dev/holdfast/internal/fieldhistory"
)

// TestGaps changes objects while the server does not record them. Their earlier states are not known then, also if no write has been
// recorded since.
func TestGaps(t *testing.T) {
	t.Parallel()
	server, c := start(t)
	core := server.Client(t).CoreV1()
	patch := func(resource, text string) {
		t.Helper()
		var err error
		switch resource {
		case "namespace":
			_, err = core.Namespaces().Patch(t.Context(), namespace, types.MergePatchType, []byte(text), metav1.PatchOptions{})
		case "configmap":
			_, err = core.ConfigMaps(namespace).Patch(t.Context(), "a", types.MergePatchType, []byte(text), metav1.PatchOptions{})
		case "secret":
			_, err = core.Secrets(namespace).Patch(t.Context(), "a", types.MergePatchType, []byte(text), metav1.PatchOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	named := metav1.ObjectMeta{Name: "a"}
	if _, err := core.ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: named, Data: map[string]string{"a": "1"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := core.Secrets(namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: named}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, resource := range []string{"configmap", "secret"} {
		patch(resource, `{"metadata":{"labels":{"l":"2"}}}`)
		patch("namespace", `{"metadata":{"labels":{"`+fieldhistory.Label+`":null}}}`)
		patch(resource, `{"metadata":{"labels":{"other":"3"}}}`)
		patch("namespace", `{"metadata":{"labels":{"`+fieldhistory.Label+`":"`+fieldhistory.LabelFields+`"}}}`)
		for _, flag := range []string{"--to=1", "--field=.metadata.labels.l"} {
			if r := c.undo(t, resource, "a", flag); r.code != 1 || !strings.Contains(r.err.Error(), "changed while it was not recorded, after entry 2") {
				t.Errorf("%s %s: code %d, %v", resource, flag, r.code, r.err)
			}
		}
		patch(resource, `{"metadata":{"labels":{"l":"4"}}}`)
		if r := c.undo(t, resource, "a", "--to=2"); r.code != 1 || !strings.Contains(r.err.Error(), "entry 3: history does not say what has changed") {
			t.Errorf("%s: code %d, %v", resource, r.code, r.err)
		}
		if r := c.undo(t, resource, "a", "--to=3", "--yes"); r.err != nil {
			t.Errorf("%s: %v", resource, r.err)
		}
	}
}

// TestFingerprints checks for objects of all built-in kinds that the object that a client reads has the content that the server has
// recorded.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	server, c := start(t)
	config := server.Config(t)
	groups, err := restmapper.GetAPIGroupResources(discovery.NewDiscoveryClientForConfigOrDie(config))
	if err != nil {
		t.Fatal(err)
	}
	mapper, client := restmapper.NewDiscoveryRESTMapper(groups), dynamic.NewForConfigOrDie(config)
	files, err := filepath.Glob("../../../test/upstream/testdata/manifests/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	examined := 0
	for _, file := range files {
		for _, obj := range read(t, file) {
			mapping, err := mapper.RESTMapping(obj.GroupVersionKind().GroupKind(), obj.GroupVersionKind().Version)
			if err != nil || slices.Contains([]string{"Event", "Lease", "Secret"}, mapping.GroupVersionKind.Kind) {
				continue
			}
			resource := client.Resource(mapping.Resource)
			objects := dynamic.ResourceInterface(resource)
			if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
				obj.SetNamespace(namespace)
				objects = resource.Namespace(namespace)
			}
			obj.SetLabels(map[string]string{fieldhistory.Label: fieldhistory.LabelFields})
			if _, err := objects.Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
				continue // it depends on other objects
			}
			// The server computes the fingerprint after an update from the one before and from the difference.
			for _, value := range []string{"one", "two"} {
				patch := `{"metadata":{"labels":{"updated":"` + value + `"},"annotations":{"updated":"` + value + `"}}}`
				// An error means that a controller has deleted it.
				_, _ = objects.Patch(t.Context(), obj.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			}
			live, err := objects.Get(t.Context(), obj.GetName(), metav1.GetOptions{})
			if err != nil {
				continue // a controller has deleted it
			}
			list := c.history(t, mapping.Resource.GroupResource().String(), obj.GetName())
			if list.ResourceVersion != live.GetResourceVersion() || list.Items[0].APIVersion != live.GetAPIVersion() {
				continue // a controller has changed its status, or it is stored in another version
			}
			examined++
			if got := strconv.FormatUint(fieldhistory.Fingerprint(fieldhistory.Content(live.Object)), 16); got != list.Fingerprint {
				t.Errorf("%s: the fingerprint is %s, and that of the history %s", obj.GetKind(), got, list.Fingerprint)
			}
		}
	}
	if examined < 30 {
		t.Errorf("only %d objects were examined", examined)
	}
}

// read returns the objects of a file.
func read(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	reader, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var objects []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(reader, 4096)
	for {
		obj := &unstructured.Unstructured{}
		err := decoder.Decode(&obj.Object)
		switch {
		case errors.Is(err, io.EOF):
			return objects
		case err != nil:
			t.Fatalf("%s: %v", file, err)
		case obj.GetKind() != "":
			objects = append(objects, obj)
		}
	}
}
