package upstream_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/waittest"
)

// notCompared are the kinds whose objects change the answers to writes of other objects, and those that controllers in a server
// write at the same time. Package oracle compares their rules.
var notCompared = []string{
	"APIService", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicyBinding",
	"MutatingAdmissionPolicyBinding", "ServiceCIDR", "IPAddress", "ClusterRole", "ValidatingAdmissionPolicy", "FlowSchema",
}

// builtinTargets returns the built-in kinds that both servers serve, each with a namespace of its own.
func builtinTargets(t *testing.T, models models, ours, theirs *server) []target {
	t.Helper()
	corpus := readCorpus(t, "test/upstream/testdata/manifests")
	known := newOurs(t)
	var targets []target
	for _, kind := range native.Kinds() {
		if slices.Contains(notCompared, kind.Name()) {
			continue
		}
		to := target{
			kind: kind.Name(), apiVersion: kind.GroupVersion.String(), strategic: true, status: kind.Status, scale: kind.Scale != nil,
			base: corpus[kind.GroupVersion.String()+" "+kind.Name()],
		}
		obj, err := known.scheme.New(kind.GroupVersionKind())
		if err != nil {
			t.Fatal(err)
		}
		to.schema = models[obj.(interface{ OpenAPIModelName() string }).OpenAPIModelName()]
		namespace := ""
		if kind.Scope == native.Namespaced {
			namespace = strings.ToLower(kind.Name())
			if kind.GroupVersion.Group != "" {
				namespace += "-" + strings.Split(kind.GroupVersion.Group, ".")[0]
			}
		}
		to.path = collection(kind.GroupVersion, namespace, kind.Resource)
		if len(kind.OtherVersions) > 0 {
			other := kind.OtherVersions[0]
			to.other, to.otherVersion = collection(other, namespace, kind.Resource), other.String()
		}
		if len(to.base) == 0 || theirs.send(call{method: http.MethodGet, path: to.path}).code != http.StatusOK {
			t.Logf("%s %s: not compared", to.apiVersion, to.kind)
			continue
		}
		for _, object := range to.base {
			if meta, ok := object["metadata"].(map[string]any); ok {
				delete(meta, "namespace")
			}
		}
		if namespace != "" {
			createNamespace(t, namespace, ours, theirs)
		}
		targets = append(targets, to)
		if to.kind == "Pod" {
			// Pods have most rules, and subresources of their own.
			targets = append(targets, to, to, to, to)
		}
	}
	return targets
}

func collection(version schema.GroupVersion, namespace, resource string) string {
	path := "/apis/" + version.String()
	if version.Group == "" {
		path = "/api/" + version.Version
	}
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	return path + "/" + resource
}

func createNamespace(t *testing.T, name string, sides ...*server) {
	t.Helper()
	for _, side := range sides {
		object := manifest{"apiVersion": "v1", "kind": "Namespace", "metadata": manifest{"name": name}}
		if r := side.send(call{method: http.MethodPost, path: "/api/v1/namespaces", body: object}); !r.accepted() {
			t.Fatalf("%s: create namespace %s: %s", side.name, name, message(r))
		}
	}
}

// createDefinitions creates the definitions of testdata/definitions.yaml on both servers. It returns their resources.
func createDefinitions(t *testing.T, models models, ours, theirs *server) []target {
	t.Helper()
	createNamespace(t, "custom", ours, theirs)
	var targets []target
	for _, definition := range readCorpus(t, "test/upstream/testdata/definitions")["apiextensions.k8s.io/v1 CustomResourceDefinition"] {
		var read struct {
			Spec struct {
				Group    string
				Names    struct{ Plural, Kind string }
				Versions []struct {
					Name         string
					Schema       struct{ OpenAPIV3Schema json.RawMessage }
					Subresources map[string]any
				}
			}
		}
		if err := json.Unmarshal(encode(definition), &read); err != nil {
			t.Fatal(err)
		}
		stored := read.Spec.Versions[0]
		to := target{kind: read.Spec.Names.Kind, apiVersion: read.Spec.Group + "/" + stored.Name, schema: &spec.Schema{}}
		if err := json.Unmarshal(stored.Schema.OpenAPIV3Schema, to.schema); err != nil {
			t.Fatal(err)
		}
		to.schema.Properties["metadata"] = spec.Schema{SchemaProps: spec.SchemaProps{Ref: spec.MustCreateRef(metav1.ObjectMeta{}.OpenAPIModelName())}}
		_, to.status = stored.Subresources["status"]
		_, to.scale = stored.Subresources["scale"]
		to.path = collection(schema.GroupVersion{Group: read.Spec.Group, Version: stored.Name}, "custom", read.Spec.Names.Plural)
		if len(read.Spec.Versions) > 1 {
			other := schema.GroupVersion{Group: read.Spec.Group, Version: read.Spec.Versions[1].Name}
			to.other, to.otherVersion = collection(other, "custom", read.Spec.Names.Plural), other.String()
		}
		to.base = []manifest{{"metadata": manifest{}}}
		for _, side := range []*server{ours, theirs} {
			if r := side.send(call{method: http.MethodPost, path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body: definition}); !r.accepted() {
				t.Fatalf("%s: %s", side.name, message(r))
			}
			waittest.Until(t, fmt.Sprintf("%s serves %s", side.name, to.path), func() bool {
				return side.send(call{method: http.MethodGet, path: to.path}).code == http.StatusOK
			})
		}
		targets = append(targets, to)
	}
	return targets
}

// keepKnown removes the fields that a server does not publish: those of a newer version.
func (m models) keepKnown(side *server) {
	published, _ := side.send(call{method: http.MethodGet, path: "/openapi/v2"}).body["definitions"].(map[string]any)
	for name, model := range m {
		definition, _ := published[name].(map[string]any)
		properties, isKnown := definition["properties"].(map[string]any)
		if !isKnown {
			continue
		}
		for property := range model.Properties {
			if _, isKnown := properties[property]; !isKnown {
				delete(model.Properties, property)
			}
		}
	}
}

func encode(object any) []byte {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return text
}

func decode(text []byte) any {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		panic(err)
	}
	return value
}
