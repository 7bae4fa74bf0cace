package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// A refused apply names the command that replaces the objects, and what is lost. Objects that are never replaced, and refusals for other
// reasons, have no hint.
func TestApplyHint(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	const set = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}, spec: {serviceName: %s, selector: {matchLabels: {a: b}},
		template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`
	const boats = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: boats.hint.example.com}, spec: {
		group: hint.example.com, scope: %s, names: {plural: boats, kind: Boat}, versions: [{name: v1, served: true, storage: true,
		schema: {openAPIV3Schema: {type: object}}}]}}`
	const command = "to replace in one write: holdfast apply --replace -f "
	for name, test := range map[string]struct {
		text, first, second string
		want                string
	}{
		"an immutable config map": {
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: app}, immutable: true, data: {level: %s}}`, "a", "b", "ConfigMap/app in namespace default: must be replaced",
		},
		"the spec of a stateful set": {set, "one", "other", "StatefulSet/a in namespace default: must be replaced"},
		"a definition":               {boats, "Namespaced", "Cluster", ""},
		"a wrong value": {
			`{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: %s}]}}`, "80", "0", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "app.yaml")
			apply := func(value string) (string, error) {
				if err := os.WriteFile(file, fmt.Appendf(nil, test.text, value), 0o600); err != nil {
					t.Fatal(err)
				}
				p := startProgram(t, "apply", "--kubeconfig", server.Kubeconfig(), "-f", file)
				err := p.Wait()
				return p.printed(), err
			}
			if out, err := apply(test.first); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			out, err := apply(test.second)
			if err == nil {
				t.Fatalf("no error: %s", out)
			}
			has := strings.Contains(out, command+file) && strings.Contains(out, "lost")
			if !strings.Contains(out, "nvalid") || has != (test.want != "") || !strings.Contains(out, test.want) {
				t.Errorf("the output is\n%s", out)
			}
		})
	}
}
