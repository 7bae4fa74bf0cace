package manifest_test

import (
	"testing"

	"holdfast.dev/holdfast/internal/manifest"
)

const located = `# comment
kind: List
items:
- kind: A
  spec:
    versions:
    - name: v1
      schema: {type: object, properties: {a.b: {type: string}, "ä": {x: 1}, a: {b: 2}}}
    - &v2
      name: v2
      served: true
    - <<: *v2
      name: v3
    - *v2
  metadata: {labels: {"example.com/a[0]": x}}
`

func TestLocate(t *testing.T) {
	tests := map[string]struct {
		path string
		want manifest.Position
	}{
		"the object":          {"", manifest.Position{Line: 4, Column: 3}},
		"a field":             {"kind", manifest.Position{Line: 4, Column: 3}},
		"an item":             {"spec.versions[0]", manifest.Position{Line: 7, Column: 7}},
		"a field of an item":  {"spec.versions[0].name", manifest.Position{Line: 7, Column: 7}},
		"in braces":           {"spec.versions[0].schema.type", manifest.Position{Line: 8, Column: 16}},
		"a name with a dot":   {"spec.versions[0].schema.properties[a.b].type", manifest.Position{Line: 8, Column: 49}},
		"the other reading":   {"spec.versions[0].schema.properties.a.b", manifest.Position{Line: 8, Column: 43}},
		"behind a wide name":  {"spec.versions[0].schema.properties[ä].x", manifest.Position{Line: 8, Column: 70}},
		"brackets in a name":  {"metadata.labels[example.com/a[0]]", manifest.Position{Line: 15, Column: 23}},
		"a missing field":     {"spec.versions[1].storage", manifest.Position{Line: 9, Column: 7}},
		"a missing item":      {"spec.versions[9].storage", manifest.Position{Line: 6, Column: 5}},
		"a merged field":      {"spec.versions[2].served", manifest.Position{Line: 11, Column: 7}},
		"an overridden field": {"spec.versions[2].name", manifest.Position{Line: 13, Column: 7}},
		"below an alias":      {"spec.versions[3].served", manifest.Position{Line: 11, Column: 7}},
		"nothing of the path": {"status.x", manifest.Position{Line: 4, Column: 3}},
	}
	document := manifest.Split("file.yaml", []byte(located))[0]
	objects, err := document.Objects()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := objects[0].Locate(test.path); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
	if got, want := document.Locate("nothing"), (manifest.Position{Line: 2, Column: 1}); got != want {
		t.Errorf("a document without the path: got %v, want %v", got, want)
	}
}
