// Package source reads CustomResourceDefinitions from files as the server reads them
// from requests, for commands that need no server.
//
//	if source.IsDefinition(object) {
//		def, err := source.Decode(object)
//	}
//
// The result is the definition as the server would store it on create: with defaults, in
// one form for both API versions, and without unknown keys. It shares no memory with the
// file.
package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	kubejson "sigs.k8s.io/json"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/v1beta1"
	"holdfast.dev/holdfast/internal/manifest"
)

// Definition is a definition from a file.
type Definition struct {
	*definition.CustomResourceDefinition
	// Object is the place of the definition.
	Object manifest.Object
	// Write is the request that would create it.
	Write definition.Write
	// Unknown are the paths of keys that are neither fields nor schema keywords.
	Unknown []string
}

// FieldError is a field that cannot be decoded.
type FieldError struct{ Path, Detail string }

// Error returns the path and the detail.
func (e *FieldError) Error() string {
	if e.Path == "" {
		return e.Detail
	}
	return e.Path + ": " + e.Detail
}

// IsDefinition reports whether an object is a CustomResourceDefinition of any version.
func IsDefinition(o manifest.Object) bool {
	group, _, _ := strings.Cut(o.APIVersion, "/")
	return o.Kind == definition.Kind.Kind && group == definition.GroupName
}

// IsPatch reports whether a definition is only a part that kustomize merges into a whole one: it has neither a group nor
// names nor versions.
func IsPatch(o manifest.Object) bool {
	var fields struct {
		Spec map[string]json.RawMessage `json:"spec"`
	}
	if err := json.Unmarshal(o.JSON, &fields); err != nil {
		return false
	}
	for _, name := range []string{"group", "names", "versions"} {
		if _, has := fields.Spec[name]; has {
			return false
		}
	}
	return true
}

// Decode decodes a definition. The error is a *FieldError.
func Decode(o manifest.Object) (*Definition, error) {
	_, version, _ := strings.Cut(o.APIVersion, "/")
	out := &Definition{Object: o, Write: definition.Write{APIVersion: version}}
	switch version {
	case definition.V1:
		crd := &definition.CustomResourceDefinition{}
		if err := out.decode(crd); err != nil {
			return nil, err
		}
		definition.SetDefaults(crd)
		out.CustomResourceDefinition = crd
	case definition.V1beta1:
		crd := &v1beta1.CustomResourceDefinition{}
		if err := out.decode(crd); err != nil {
			return nil, err
		}
		v1beta1.SetDefaults(crd)
		out.CustomResourceDefinition = crd.ToStored()
	default:
		return nil, &FieldError{"apiVersion", fmt.Sprintf("%s: must be %s/%s or %s/%s", o.APIVersion,
			definition.GroupName, definition.V1, definition.GroupName, definition.V1beta1)}
	}
	out.Unknown = append(out.Unknown, definition.DropUnknown(out.CustomResourceDefinition)...)
	out.Write.Prepare(out.CustomResourceDefinition)
	return out, nil
}

// decode decodes the object into crd, and records the keys that are no fields.
func (d *Definition) decode(crd any) error {
	strict, err := kubejson.UnmarshalStrict(d.Object.JSON, crd)
	if err != nil {
		return fieldError(d.Object.JSON, err)
	}
	for _, err := range strict {
		var unknown kubejson.FieldError
		if errors.As(err, &unknown) {
			d.Unknown = append(d.Unknown, unknown.FieldPath())
		}
	}
	return nil
}

// fieldError translates an error of the JSON decoder.
func fieldError(data []byte, err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return &FieldError{Detail: err.Error()}
	}
	return &FieldError{pathAt(data, wrong.Offset), fmt.Sprintf("must be %s, not %s", article(wrong.Type.Kind().String()), wrong.Value)}
}

// article returns the name of a Go type for a message.
func article(kind string) string {
	switch kind {
	case "bool":
		return "a boolean"
	case "struct", "map", "ptr":
		return "an object"
	case "slice":
		return "a list"
	case "string":
		return "a string"
	}
	return "a number"
}

// Name returns the name of a definition, also of one that cannot be decoded. It is empty if the definition has none.
func Name(o manifest.Object) string {
	var header struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(o.JSON, &header); err != nil {
		return ""
	}
	return header.Metadata.Name
}
