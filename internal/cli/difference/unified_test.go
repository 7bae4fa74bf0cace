package difference_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/cli/difference"
)

func TestUnifiedConfigMaps(t *testing.T) {
	t.Parallel()
	config := func(file string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"plain": "x", "server.conf": file},
		}}
	}
	// Because of the space at the end of a line, YAML writes this text in quotes, in one line.
	got, err := difference.Unified("a", config("a = 1 \n\tb = 2\nc = 3\n"), config("a = 1 \n\tb = 4\nc = 3\n"))
	want := "--- a\n+++ a\n@@ -4,5 +4,5 @@\n   plain: x\n   server.conf: |\n     a = 1 \n-    \tb = 2\n+    \tb = 4\n     c = 3\n"
	if err != nil || got != want {
		t.Errorf("%v, got:\n%s", err, got)
	}
}
