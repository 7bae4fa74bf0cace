package gate_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/custom/definitiontest"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// BenchmarkChange changes a definition with 5,000 properties and 500 objects, and waits until the server has judged the objects. The server
// has to read the objects only if a change makes a rule stricter.
func BenchmarkChange(b *testing.B) {
	const properties, stored = 5000, 500
	server := servertest.Start(b, apiserver.Config{DataDir: b.TempDir()})
	client := dynamic.NewForConfigOrDie(server.Config(b))
	crd := yamltest.Object(b, define("", "a: {type: string}", ""))
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	schema := map[string]any{"openAPIV3Schema": yamltest.Map(b, string(definitiontest.Schema(properties)))}
	versions[0].(map[string]any)["schema"] = schema
	if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
		b.Fatal(err)
	}
	if _, err := client.Resource(definitions).Create(b.Context(), crd, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	for i := range stored {
		boat := yamltest.Object(b, fmt.Sprintf("{apiVersion: gate.example.com/v1, kind: Boat, metadata: {name: b%d}, spec: {region: north}}", i))
		if _, err := client.Resource(boats).Namespace("default").Create(b.Context(), boat, metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	const spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/"
	change := 0
	for _, test := range []struct{ name, operation string }{
		{"add", `[{"op": "add", "path": "` + spec + `extra%d", "value": {"type": "string"}}]`},
		{"narrow", `[{"op": "replace", "path": "` + spec + `region/maxLength", "value": 1%05d}]`},
	} {
		b.Run(test.name, func(b *testing.B) {
			for b.Loop() {
				change++
				patch := fmt.Sprintf(test.operation, change)
				if test.name == "narrow" {
					patch = fmt.Sprintf(test.operation, 99999-change)
				}
				if _, err := client.Resource(definitions).Patch(b.Context(), name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
					b.Fatal(err)
				}
				waittest.Until(b, "the objects are judged", func() bool {
					crd, err := client.Resource(definitions).Get(b.Context(), name, metav1.GetOptions{})
					return err == nil && verdictOf(crd) == "True"
				})
			}
		})
	}
}
