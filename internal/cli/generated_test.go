package cli_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// TestGeneratedDefinition creates the generated definition of the example API on a server, and
// sees that its markers protect objects.
func TestGeneratedDefinition(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := run(t.Context(), "schema", "generate", "--output-dir", dir, "../../examples/boats/..."); err != nil {
		t.Fatal(err, out)
	}
	data, err := os.ReadFile(filepath.Join(dir, "harbour.example.com_boats.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	server := servertest.Start(t, apiserver.Config{})
	client := dynamic.NewForConfigOrDie(servertest.Config(t, server.Kubeconfig()))
	definitions := client.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	})
	// Strict validation refuses a keyword that the server does not know.
	strict := metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
	if _, err := definitions.Create(t.Context(), yamltest.Object(t, string(data)), strict); err != nil {
		t.Fatal(err)
	}
	boats := client.Resource(schema.GroupVersionResource{Group: "harbour.example.com", Version: "v1", Resource: "boats"}).
		Namespace("default")
	const boat = `{apiVersion: harbour.example.com/v1, kind: Boat, metadata: {name: argo},
		spec: {hull: oak, masts: [{name: main, sail: square}], owners: [jason]}}`
	waittest.Until(t, "the kind is served", func() error {
		_, err := boats.Create(t.Context(), yamltest.Object(t, boat), metav1.CreateOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		return err
	})
	tests := map[string]struct {
		change string // a merge patch of the spec
		want   []string
	}{
		"hull": {`{"spec":{"hull":"steel"}}`, []string{`spec.hull: field is immutable: changed from "oak" to "steel"`}},
		"a mast more": {
			`{"spec":{"masts":[{"name":"main"},{"name":"fore"}]}}`,
			[]string{`spec.masts[name="fore"]: field is immutable: immutable keys: added {"name":"fore"}`},
		},
		"an owner less":    {`{"spec":{"owners":[]}}`, []string{`spec.owners[="jason"]: field is immutable: addition only: removed "jason"`}},
		"a sail, an owner": {`{"spec":{"masts":[{"name":"main","sail":"lateen"}],"owners":["jason","medea"],"crew":50}}`, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dryRun := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
			_, err := boats.Patch(t.Context(), "argo", types.MergePatchType, []byte(test.change), dryRun)
			if diff := cmp.Diff(test.want, causes(err)); diff != "" {
				t.Errorf("causes of %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// causes returns the fields and messages in the answer of a server.
func causes(err error) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return nil
	}
	var found []string
	for _, cause := range status.Status().Details.Causes {
		found = append(found, cause.Field+": "+cause.Message)
	}
	return found
}
