package flux_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/ssa"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/cli"
)

const settings = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  namespace: default
  labels: {kustomize.toolkit.fluxcd.io/name: shop}
data: {a: one}
`

// TestTransferToFlux checks that Flux removes the fields of kubectl after a transfer, and not before. Flux moves them itself only with
// the options of its kustomize-controller, when it reconciles the object.
func TestTransferToFlux(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	c, err := client.New(server.Config(t), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := flux{ssa.NewResourceManager(c, nil, ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"})}
	obj := object(t, settings)
	for _, manager := range []string{"kubectl-client-side-apply", "kubectl-edit"} {
		written := object(t, settings)
		if manager == "kubectl-client-side-apply" {
			written.Object["data"] = map[string]any{"a": "one", "applied": "x"}
			err = c.Create(t.Context(), written, client.FieldOwner(manager))
		} else {
			err = c.Patch(t.Context(), written, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"edited":"x"}}`)), client.FieldOwner(manager))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	data := func() map[string]string {
		t.Helper()
		if err := f.apply(t, settings, ssa.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			t.Fatal(err)
		}
		found, _, _ := unstructured.NestedStringMap(obj.Object, "data")
		return found
	}
	if diff := cmp.Diff(map[string]string{"a": "one", "applied": "x", "edited": "x"}, data()); diff != "" {
		t.Errorf("before the transfer (-want +got):\n%s", diff)
	}
	var out, notes bytes.Buffer
	err = cli.Run(t.Context(), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &notes}, []string{
		"transfer", "--kubeconfig", server.Kubeconfig(), "--preset", "flux", "--record", filepath.Join(t.TempDir(), "moved.jsonl"),
	})
	if err != nil {
		t.Fatalf("%v: %s", err, notes.String())
	}
	if diff := cmp.Diff(map[string]string{"a": "one"}, data()); diff != "" {
		t.Errorf("after the transfer (-want +got):\n%s\n%s", diff, out.String())
	}
}
