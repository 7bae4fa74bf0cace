package definition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/parameters"
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// schemaPath returns the path of the schema of the version at an index.
func schemaPath(version int) *field.Path {
	return field.NewPath("spec", "versions").Index(version).Child("schema", "openAPIV3Schema")
}

// below returns the path in the definition of a schema node. root is the path of the
// schema, and path is the path of the node in the schema.
func below(root *field.Path, path *value.Path) *field.Path {
	if path == nil {
		return root
	}
	return root.Child(value.Notation{Kubernetes: true}.Path(path))
}

// HasSchema reports whether the version has a schema.
func (v *CustomResourceDefinitionVersion) HasSchema() bool {
	return v.Schema != nil && !isNull(v.Schema.OpenAPIV3Schema)
}

func isNull(raw json.RawMessage) bool {
	trimmed := bytes.TrimSpace(raw)
	return len(trimmed) == 0 || bytes.Equal(trimmed, []byte("null"))
}

// DecodeSchema decodes the schema of the version. It also returns the paths of
// keys that are not schema keywords. s is nil if the version has no schema. The
// error is a schema.Errors, or a JSON error.
func (v *CustomResourceDefinitionVersion) DecodeSchema() (s *schema.Schema, unknown []*value.Path, err error) {
	if !v.HasSchema() {
		return nil, nil, nil
	}
	var decoded any
	if err := utiljson.Unmarshal(v.Schema.OpenAPIV3Schema, &decoded); err != nil {
		return nil, nil, err
	}
	return schema.Decode(decoded)
}

// canonicalize encodes the schema with sorted keys and without spaces, so that
// equal schemas have equal bytes.
func (in *CustomResourceValidation) canonicalize() {
	if in == nil {
		return
	}
	if isNull(in.OpenAPIV3Schema) {
		in.OpenAPIV3Schema = nil
		return
	}
	var decoded any
	if err := utiljson.Unmarshal(in.OpenAPIV3Schema, &decoded); err != nil {
		return
	}
	if out, err := json.Marshal(decoded); err == nil {
		in.OpenAPIV3Schema = out
	}
}

// UnknownField returns the message about a key of a schema that is no keyword, with the keyword that its author may have meant.
func UnknownField(path string) string {
	name := path[strings.LastIndexByte(path, '.')+1:]
	return fmt.Sprintf("unknown field %q%s", path, parameters.Suggestion(name, schema.Keywords()))
}

// DropUnknown removes the keys that are not schema keywords from the schemas of
// crd. It returns their paths, which the query parameter fieldValidation turns
// into warnings or errors. It skips a schema that cannot be decoded; Validate
// reports that.
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
