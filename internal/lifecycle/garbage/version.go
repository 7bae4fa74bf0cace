package garbage

import "k8s.io/apimachinery/pkg/runtime/schema"

// StorageVersion returns the version that the objects of a custom resource are stored in. It
// returns an empty version if the server does not serve that version, or does not know the
// resource. A controller that writes an object in this version keeps all its fields. Another
// version may have fewer fields.
type StorageVersion func(schema.GroupResource) string

// Of returns a resource in its storage version, or as it is if that is not known.
func (s StorageVersion) Of(resource schema.GroupVersionResource) schema.GroupVersionResource {
	if s != nil {
		if version := s(resource.GroupResource()); version != "" {
			resource.Version = version
		}
	}
	return resource
}
