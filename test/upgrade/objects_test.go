package upgrade_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/waittest"
)

// kept is the namespace and the label of the objects that every release writes.
const kept = "kept"

// write lets the program of a release write its objects, as a user does, and waits until the controllers have done their part.
func (s *server) write(t *testing.T) {
	t.Helper()
	for _, file := range []string{"definitions.yaml", "objects.yaml"} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		s.run(t, string(text), "apply", "-f", "-")
		s.run(t, "", "wait", "--for=condition=Established", "--timeout=5m", "crd/boats.upgrade.example.com")
	}
	s.run(t, `{apiVersion: upgrade.example.com/v1, kind: Boat, metadata: {name: raft, namespace: kept}, spec: {hull: reed}}`,
		"apply", "--server-side", "--field-manager=team-a", "-f", "-")
	s.run(t, "", "-n", kept, "label", "configmap", "settings", "stage=one")
	client := s.dynamic(t)
	waittest.Until(t, "the plan of the Instance is complete", func() error {
		instance, err := client.Resource(instances).Namespace(kept).Get(t.Context(), "tok", metav1.GetOptions{})
		if err != nil {
			return err
		}
		plan, _, _ := unstructured.NestedString(instance.Object, "spec", "planExecution", "planName")
		state, _, _ := unstructured.NestedString(instance.Object, "status", "planStatus", "deploy", "status")
		conditions, _, _ := unstructured.NestedSlice(instance.Object, "status", "conditions")
		for _, condition := range conditions {
			if condition, ok := condition.(map[string]any); ok && condition["observedGeneration"] != instance.GetGeneration() {
				return errors.New("the condition is about an earlier generation")
			}
		}
		if plan != "" || state != "COMPLETE" {
			return fmt.Errorf("plan %q is running, deploy is %s", plan, state)
		}
		return nil
	})
	waittest.Until(t, "the quota counts the Service", func() error {
		quota, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}).Namespace(kept).
			Get(t.Context(), "few", metav1.GetOptions{})
		if err != nil {
			return err
		}
		used, _, _ := unstructured.NestedString(quota.Object, "status", "used", "count/services")
		if used != "1" {
			return fmt.Errorf("the quota has %q services", used)
		}
		return nil
	})
}

var instances = schema.GroupVersionResource{Group: "kudo.dev", Version: "v1beta1", Resource: "instances"}

func (s *server) dynamic(t *testing.T) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(s.config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// recorded is an object as a server served it.
type recorded struct {
	Resource schema.GroupVersionResource
	Object   *unstructured.Unstructured
}

func (r recorded) String() string {
	return fmt.Sprintf("%s %s/%s", r.Resource, r.Object.GetNamespace(), r.Object.GetName())
}

// record returns all objects of the server. Of an object that the server changes on its own, it has only the metadata that stay.
func (s *server) record(t *testing.T) []recorded {
	t.Helper()
	discovered, err := discovery.NewDiscoveryClientForConfig(s.config)
	if err != nil {
		t.Fatal(err)
	}
	lists, err := discovered.ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	client := s.dynamic(t)
	var all []recorded
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range list.APIResources {
			if !strings.Contains(kind.Verbs.String(), "list") || kind.Name == "events" || kind.Name == "leases" {
				continue
			}
			resource := version.WithResource(kind.Name)
			found, err := client.Resource(resource).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, object := range found.Items {
				object.SetAPIVersion(list.GroupVersion)
				object.SetKind(kind.Kind)
				all = append(all, recorded{resource, brief(&object)})
			}
		}
	}
	return all
}

// brief leaves out all but the identity of an object that is not of the test. Of a policy it leaves out the status, and of a definition the
// condition about its objects, which a release may be the first to write.
func brief(object *unstructured.Unstructured) *unstructured.Unstructured {
	if object.GetNamespace() == kept || object.GetLabels()[kept] != "" {
		switch object.GetKind() {
		case "ValidatingAdmissionPolicy":
			object = object.DeepCopy()
			object.SetManagedFields(nil)
			object.SetResourceVersion("")
			unstructured.RemoveNestedField(object.Object, "status")
		case "CustomResourceDefinition":
			object = object.DeepCopy()
			object.SetResourceVersion("")
			status, _ := object.Object["status"].(map[string]any)
			conditions, _ := status["conditions"].([]any)
			status["conditions"] = slices.DeleteFunc(conditions, func(c any) bool { return c.(map[string]any)["type"] == "StoredObjectsValid" })
		}
		return object
	}
	short := &unstructured.Unstructured{}
	short.SetGroupVersionKind(object.GroupVersionKind())
	short.SetNamespace(object.GetNamespace())
	short.SetName(object.GetName())
	short.SetUID(object.GetUID())
	return short
}

// compare checks that the server serves every recorded object as it was.
func (s *server) compare(t *testing.T, all []recorded) {
	t.Helper()
	client := s.dynamic(t)
	for _, want := range all {
		namespace, name := want.Object.GetNamespace(), want.Object.GetName()
		got, err := client.Resource(want.Resource).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) && replaced(want) {
			continue
		}
		// An earlier program does not have all kinds of the server's own objects.
		if err != nil && want.Object.GetResourceVersion() == "" && strings.Contains(err.Error(), "could not find the requested resource") {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		if replaced(want) {
			continue
		}
		if diff := cmp.Diff(brief(want.Object).Object, brief(got).Object); diff != "" {
			t.Errorf("%s (-before +now):\n%s", want, diff)
		}
	}
	if len(all) < 80 {
		t.Errorf("only %d objects were compared", len(all))
	}
}

// replaced reports whether a server deletes an object and creates it again: the address that it advertises, and bindings of default roles
// whose role has changed.
func replaced(r recorded) bool {
	return r.Resource.Resource == "endpointslices" || r.Resource.Resource == "ipaddresses"
}

func encode(t *testing.T, all []recorded) []byte {
	t.Helper()
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
