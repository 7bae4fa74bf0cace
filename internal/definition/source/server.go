package source

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/manifest"
)

// FromServer decodes a definition that a client has read from a server.
func FromServer(obj *unstructured.Unstructured) (*definition.CustomResourceDefinition, error) {
	text, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, err
	}
	found, err := Decode(manifest.Object{APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(), JSON: text})
	if err != nil {
		return nil, err
	}
	return found.CustomResourceDefinition, nil
}
