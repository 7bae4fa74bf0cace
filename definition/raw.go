package definition

import (
	"bytes"
	"encoding/json"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/schema"
)

// schemaPath is where the schema of the version at an index stands.
func schemaPath(version int) *field.Path {
	return field.NewPath("spec", "versions").Index(version).Child("schema", "openAPIV3Schema")
}

// below is a path inside of the schema that stands at root.
func below(root *field.Path, path *schema.Path) *field.Path {
	if path == nil {
		return root
	}
	return root.Child(path.String())
}

// HasSchema says whether the version has a schema at all.
func (v *CustomResourceDefinitionVersion) HasSchema() bool {
	return v.Schema != nil && !isNull(v.Schema.OpenAPIV3Schema)
}

func isNull(raw json.RawMessage) bool {
	trimmed := bytes.TrimSpace(raw)
	return len(trimmed) == 0 || bytes.Equal(trimmed, []byte("null"))
}

// DecodeSchema reads the schema of the version, and the paths in it that are no
// keywords. A version without a schema has nil. The error is schema.Errors, or
// says that the bytes are no JSON.
func (v *CustomResourceDefinitionVersion) DecodeSchema() (s *schema.Schema, unknown []*schema.Path, err error) {
	if !v.HasSchema() {
		return nil, nil, nil
	}
	var value any
	if err := utiljson.Unmarshal(v.Schema.OpenAPIV3Schema, &value); err != nil {
		return nil, nil, err
	}
	return schema.Decode(value)
}

// canonicalize writes the schema in one way, so that two that say the same are
// equal as bytes.
func (in *CustomResourceValidation) canonicalize() {
	if in == nil {
		return
	}
	if isNull(in.OpenAPIV3Schema) {
		in.OpenAPIV3Schema = nil
		return
	}
	var value any
	if err := utiljson.Unmarshal(in.OpenAPIV3Schema, &value); err != nil {
		return
	}
	if out, err := json.Marshal(value); err == nil {
		in.OpenAPIV3Schema = out
	}
}

// DropUnknown takes the keys that are no keywords out of the schemas of crd,
// which it changes, and returns their paths: what fieldValidation is about. A
// schema that cannot be read is left to Validate.
func DropUnknown(crd *CustomResourceDefinition) []string {
	var dropped []string
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		s, unknown, err := v.DecodeSchema()
		if err != nil || len(unknown) == 0 {
			continue
		}
		for _, path := range unknown {
			dropped = append(dropped, below(schemaPath(i), path).String())
		}
		if out, err := json.Marshal(s); err == nil {
			v.Schema.OpenAPIV3Schema = out
		}
	}
	return dropped
}
