package verdict

import (
	"strings"
	"testing"

	"holdfast.dev/holdfast/schema"
)

// FuzzKnown checks that a path has nothing but names of the schema, whatever the path of an object is.
func FuzzKnown(f *testing.F) {
	text := &schema.Schema{Type: "string"}
	item := &schema.Schema{Type: "object", Required: []string{"port"}, Properties: map[string]*schema.Schema{"name": text}}
	root := &schema.Schema{Type: "object", Properties: map[string]*schema.Schema{"spec": {Type: "object", Properties: map[string]*schema.Schema{
		"items":  {Type: "array", Items: item},
		"labels": {Type: "object", AdditionalProperties: &schema.SchemaOrBool{Allows: true, Schema: item}},
	}}}}
	names := map[string]bool{"": true, "*": true, "spec": true, "items": true, "labels": true, "name": true, "port": true}
	for _, path := range []string{
		"", "spec", "spec.items[3].port", "spec.labels.a.b/c.name", "spec.labels[x.y].port", "spec.other", "metadata.name", "spec.items[3", "..[[]]", "[0][1]",
	} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got := known(root, path)
		for _, name := range strings.FieldsFunc(got, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
			if !names[name] {
				t.Errorf("%q has %q: %q", got, name, path)
			}
		}
	})
}
