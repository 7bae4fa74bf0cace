package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/console"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestVersions checks a definition with an escape and with two versions that mark different
// fields. An object of one version is also locked by the markers of the other.
func TestVersions(t *testing.T) {
	t.Parallel()
	s := start(t, apiserver.Config{Console: true})
	s.create(t, definitions, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.org}
spec:
  group: example.org
  names: {plural: boats, kind: Boat}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              hull: {type: string, x-kubernetes-immutable: true}
              crew: {type: integer}
              extra: {type: object, nullable: true, x-kubernetes-preserve-unknown-fields: true}
  - name: v2
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties:
              hull: {type: string}
              crew: {x-kubernetes-int-or-string: true, x-kubernetes-immutable: true}
`)
	report, _ := s.report(t, definitions+"/boats.example.org")
	if len(report.Versions) != 2 {
		t.Fatalf("versions %+v", report.Versions)
	}
	escapes := []console.Escape{{
		Field:   ".spec.hull",
		Problem: "immutable, but spec is optional: it can be removed and then set again with another value",
		Remedy: `make spec required; or write x-kubernetes-update: [NoUnset] on spec, or no-unset in the annotation; or for every Kubernetes server: ` +
			`add the rule "!has(oldSelf.spec) || has(self.spec)" to the root`,
	}}
	if diff := cmp.Diff(escapes, report.Versions[0].Escapes); diff != "" {
		t.Errorf("escapes (-want +got):\n%s", diff)
	}
	nodes := []console.Node{
		{Field: ".spec", Type: "object"},
		{Field: ".spec.crew", Depth: 1, Type: "integer"},
		{Field: ".spec.extra", Depth: 1, Type: "object", Traits: []string{"nullable", "unknown fields are kept"}},
		{Field: ".spec.hull", Depth: 1, Type: "string", Marker: "x-kubernetes-immutable"},
	}
	if diff := cmp.Diff(nodes, report.Versions[0].Skeleton); diff != "" {
		t.Errorf("skeleton (-want +got):\n%s", diff)
	}
	if !report.Versions[0].Pruned {
		t.Error("version v1 is not pruned")
	}
	if crew := report.Versions[1].Skeleton[1]; crew.Type != "integer or string" || crew.Marker != "x-kubernetes-immutable" {
		t.Errorf("crew %+v", crew)
	}

	// v1beta1 accepts a definition without pruning and without a schema.
	s.create(t, strings.Replace(definitions, "/v1/", "/v1beta1/", 1), "{apiVersion: apiextensions.k8s.io/v1beta1, "+
		"kind: CustomResourceDefinition, metadata: {name: rafts.example.org}, spec: {group: example.org, version: v1, "+
		"scope: Namespaced, names: {plural: rafts, kind: Raft}, preserveUnknownFields: true}}")
	rafts, _ := s.report(t, definitions+"/rafts.example.org")
	if v1 := rafts.Versions[0]; v1.Pruned || v1.Note != "this version has no schema: all fields are kept" {
		t.Errorf("a version without a schema: %+v", v1)
	}

	const boats = "/apis/example.org/v1/namespaces/default/boats"
	waittest.Until(t, "boats are served", func() bool { return s.send(t, s.admin, http.MethodGet, boats).code == http.StatusOK })
	s.create(t, boats, "{apiVersion: example.org/v1, kind: Boat, metadata: {name: a}, spec: {hull: steel, crew: 3}}")
	var why []string
	boat, _ := s.report(t, boats+"/a")
	for _, lock := range boat.Locks {
		why = append(why, lock.Field+": "+lock.Why)
	}
	want := []string{
		".spec.hull: x-kubernetes-immutable in version v1 of the definition",
		".spec.crew: x-kubernetes-immutable in version v2 of the definition",
	}
	if diff := cmp.Diff(want, why); diff != "" {
		t.Errorf("locks (-want +got):\n%s", diff)
	}
}
