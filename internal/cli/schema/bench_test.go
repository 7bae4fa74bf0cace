package schema_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev/holdfast/internal/cli/schema"
)

// BenchmarkLint lints files with one definition each: 40 fields, markers, a default, and CEL
// rules in every tenth. It reports the time per definition.
func BenchmarkLint(b *testing.B) {
	files := 2000
	if testing.Short() {
		files = 20
	}
	dir := b.TempDir()
	size := 0
	for i := range files {
		text := benchDefinition(i)
		size += len(text)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.yaml", i)), text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		cmd := schema.New("bench")
		cmd.SetArgs([]string{"lint", "--fail-on", "warning", dir})
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		if err := cmd.ExecuteContext(b.Context()); err != nil {
			b.Fatalf("%v\n%s", err, out.Bytes())
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(files), "µs/definition")
}

func benchDefinition(i int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: kind%[1]ds.example.com
spec:
  group: example.com
  names: {plural: kind%[1]ds, kind: Kind%[1]d}
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
              size: {type: string, maxLength: 20, default: small, x-kubernetes-immutable: true}
`, i)
	if i%10 == 0 {
		b.WriteString("            x-kubernetes-validations:\n            - {rule: self.size == oldSelf.size, message: fixed}\n")
	}
	b.WriteString("          status:\n            type: object\n            properties:\n")
	for field := range 40 {
		fmt.Fprintf(&b, `              field%d:
                type: array
                description: A description that is about as long as those of real definitions are.
                items: {type: object, properties: {name: {type: string}, value: {type: integer}}}
`, field)
	}
	return b.Bytes()
}
