package subresource

import (
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Status serves the status of the objects of a store.
type Status struct{ *Part }

var (
	_ rest.Patcher             = &Status{}
	_ rest.ResetFieldsStrategy = &Status{}
)

// StatusStrategy prepares and validates a write to a status.
type StatusStrategy interface {
	rest.RESTUpdateStrategy
	rest.ResetFieldsStrategy
}

// NewStatus returns the status subresource of a store, see NewPart.
func NewStatus(store *genericregistry.Store, strategy StatusStrategy) *Status {
	part := NewPart(store, strategy)
	part.store.ResetFieldsStrategy = strategy
	return &Status{part}
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (r *Status) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.store.GetResetFields()
}
