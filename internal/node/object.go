package node

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/projection"
)

// Ref identifies an object by kind, namespace and name.
type Ref struct {
	Kind      projection.Kind `json:"kind"`
	Namespace string          `json:"namespace"`
	Name      string          `json:"name"`
}

// String returns the reference for messages, such as "secret default/key".
func (r Ref) String() string { return fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name) }

// resourceOf returns the plural name of a kind in API paths.
func resourceOf(kind projection.Kind) string {
	if kind == projection.Secret {
		return "secrets"
	}
	return "configmaps"
}

// Object is the content of a ConfigMap or Secret. It is shared and must not be
// changed.
type Object struct {
	Ref             `json:",inline"`
	UID             types.UID         `json:"uid"`
	ResourceVersion string            `json:"resourceVersion"`
	Immutable       bool              `json:"immutable,omitempty"`
	Data            map[string][]byte `json:"data,omitempty"`
	// received is when a watch brought this version; zero if no watch did.
	received time.Time
}

// objectOf converts a ConfigMap or Secret. It returns nil for any other type.
func objectOf(obj any) *Object {
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		data := make(map[string][]byte, len(o.Data)+len(o.BinaryData))
		for key, value := range o.Data {
			data[key] = []byte(value)
		}
		for key, value := range o.BinaryData {
			data[key] = value
		}
		return &Object{
			Ref: Ref{projection.ConfigMap, o.Namespace, o.Name}, UID: o.UID, ResourceVersion: o.ResourceVersion,
			Immutable: o.Immutable != nil && *o.Immutable, Data: data,
		}
	case *corev1.Secret:
		return &Object{
			Ref: Ref{projection.Secret, o.Namespace, o.Name}, UID: o.UID, ResourceVersion: o.ResourceVersion,
			Immutable: o.Immutable != nil && *o.Immutable, Data: o.Data,
		}
	}
	return nil
}

// payload returns the content as files, to compute its digest.
func (o *Object) payload() projection.Payload {
	payload := projection.Payload{}
	for key, value := range o.Data {
		payload[key] = projection.File{Data: value}
	}
	return payload
}
