package ownership

import "slices"

// Endpoint is an endpoint below an object through which a client can change a field with an owner. A write to such an endpoint may
// also change the labels and annotations of the object.
type Endpoint struct {
	// Resource is the plural name of a kind, or * for all kinds that have the subresource.
	Resource, Subresource string
}

// Endpoints returns the endpoints, in the order of their subresources. Others change no field that a file can have: a deletion or an
// eviction has no new object. The binding of a pod can add labels and annotations to it, and is not among them: it is created, not
// updated, and the scheduler, which sends it, is a controller.
func Endpoints() []Endpoint {
	return []Endpoint{
		{"certificatesigningrequests", "approval"},
		{"pods", "ephemeralcontainers"},
		{"namespaces", "finalize"},
		{"pods", "resize"},
		{"*", "scale"},
		{"*", "status"},
	}
}

// IsWritable reports whether a subresource can change a field with an owner. The object itself has the subresource "".
func IsWritable(subresource string) bool {
	return subresource == "" || slices.ContainsFunc(Endpoints(), func(e Endpoint) bool { return e.Subresource == subresource })
}
