package flux_test

import (
	"strings"
	"testing"

	"github.com/fluxcd/pkg/ssa"
	ssaerrors "github.com/fluxcd/pkg/ssa/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.com}
spec:
  group: example.com
  names: {plural: boats, kind: Boat}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            properties:
              hull: {type: string, x-kubernetes-immutable: true}
`

const boat = `
apiVersion: example.com/v1
kind: Boat
metadata: {name: anchor, namespace: default}
spec: {hull: oak}
`

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	var obj unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return &obj
}

// flux is the part of Flux that applies the objects of a Kustomization.
type flux struct {
	*ssa.ResourceManager
}

func newFlux(t *testing.T, status int) flux {
	t.Helper()
	server := servertest.Start(t, apiserver.Config{ImmutabilityStatus: status})
	c, err := client.New(server.Config(t), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := flux{ssa.NewResourceManager(c, nil, ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"})}
	if err := f.apply(t, definition, ssa.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the server serves boats", func() error { return f.apply(t, boat, ssa.ApplyOptions{}) })
	return f
}

func (f flux) apply(t *testing.T, text string, options ssa.ApplyOptions) error {
	t.Helper()
	_, err := f.Apply(t.Context(), object(t, text), options)
	return err
}

// stored returns the UID and the hull of the stored boat.
func (f flux) stored(t *testing.T) (uid, hull string) {
	t.Helper()
	obj := object(t, boat)
	if err := f.Client().Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
		t.Fatal(err)
	}
	hull, _, _ = unstructured.NestedString(obj.Object, "spec", "hull")
	return string(obj.GetUID()), hull
}

// Flux recognizes a refused change with either status. It creates the object again only with force, and never if the object must be
// kept.
func TestRefusedChange(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"400": 400, "422": 422} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFlux(t, status)
			first, _ := f.stored(t)
			steel := strings.Replace(boat, "oak", "steel", 1)

			err := f.apply(t, steel, ssa.ApplyOptions{})
			if !ssaerrors.IsImmutableError(err) || !strings.Contains(err.Error(), `spec.hull: field is immutable: changed from "oak" to "steel"`) {
				t.Errorf("without force: %v", err)
			}
			if uid, hull := f.stored(t); uid != first || hull != "oak" {
				t.Errorf("without force: the object is %s with %s, want %s with oak", uid, hull, first)
			}

			kept := strings.Replace(steel, "namespace: default", "namespace: default, annotations: {holdfast.dev/keep: always}", 1)
			if err := f.apply(t, strings.Replace(kept, "steel", "oak", 1), ssa.ApplyOptions{}); err != nil {
				t.Fatal(err)
			}
			err = f.apply(t, kept, ssa.ApplyOptions{Force: true})
			if err == nil || !strings.Contains(err.Error(), "the annotation holdfast.dev/keep: always keeps it") {
				t.Errorf("with force, kept: %v", err)
			}
			if uid, hull := f.stored(t); uid != first || hull != "oak" {
				t.Errorf("with force, kept: the object is %s with %s, want %s with oak", uid, hull, first)
			}

			if err := f.apply(t, boat, ssa.ApplyOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := f.apply(t, steel, ssa.ApplyOptions{Force: true}); err != nil {
				t.Fatal(err)
			}
			if uid, hull := f.stored(t); uid == first || hull != "steel" {
				t.Errorf("with force: the object is %s with %s, want another one than %s with steel", uid, hull, first)
			}
		})
	}
}
