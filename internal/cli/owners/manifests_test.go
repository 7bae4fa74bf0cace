package owners_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/managers"
	"holdfast.dev/holdfast/ownership"
)

// TestNoFalseAlarms applies manifests of all built-in kinds. An object of client-side apply has no stuck field. If another manager applies
// the same file on the server, all fields of client-side apply are co-owned: those that are left behind are defaults, which are not stuck.
func TestNoFalseAlarms(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
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
			if err != nil {
				continue // the server does not have this version
			}
			resource := client.Resource(mapping.Resource)
			objects := dynamic.ResourceInterface(resource)
			if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
				obj.SetNamespace("default")
				objects = resource.Namespace("default")
			}
			obj.SetName("stuck-" + obj.GetName())
			if mapping.GroupVersionKind.Kind == "APIService" || obj.GetAPIVersion() == "autoscaling/v1" {
				continue // its name is that of its version; the command reads the newest version
			}
			file := obj.DeepCopy()
			annotate(t, obj)
			created, err := objects.Create(t.Context(), obj, metav1.CreateOptions{FieldManager: managers.ClientSideApply, DryRun: []string{metav1.DryRunAll}})
			if err != nil {
				continue // it depends on other objects, or on its name
			}
			applied, err := objects.Apply(t.Context(), file.GetName(), file, metav1.ApplyOptions{FieldManager: "ci", DryRun: []string{metav1.DryRunAll}})
			if err != nil {
				continue
			}
			examined++
			of := ownership.Subject{
				Type: kinds.Of(mapping.GroupVersionKind.GroupKind()), Object: created.Object, Managers: created.GetManagedFields(),
			}
			if of.Type == nil {
				continue // an Event of events.k8s.io, which is one of v1
			}
			for _, one := range examine(t, of).Stuck {
				t.Errorf("%s: with client-side apply: %s is %s", mapping.GroupVersionKind.Kind, one.Path, one.Reason)
			}
			of.Managers = append(of.Managers, applied.GetManagedFields()...)
			for _, one := range examine(t, of).Stuck {
				if one.Reason != managers.CoOwned {
					t.Errorf("%s: with both: %s is %s", mapping.GroupVersionKind.Kind, one.Path, one.Reason)
				}
			}
		}
	}
	if examined < 40 {
		t.Errorf("only %d objects were examined", examined)
	}
}

func examine(t testing.TB, of ownership.Subject) managers.Findings {
	t.Helper()
	found, err := managers.Examine(of, nil)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// annotate adds the last-applied configuration.
func annotate(t testing.TB, obj *unstructured.Unstructured) {
	t.Helper()
	text, err := json.Marshal(obj.Object)
	if err != nil {
		t.Fatal(err)
	}
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[ownership.LastApplied] = string(text)
	obj.SetAnnotations(annotations)
}

// read returns the objects of a file.
func read(t testing.TB, file string) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
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
