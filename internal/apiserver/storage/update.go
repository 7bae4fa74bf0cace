package storage

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"
	storeerr "k8s.io/apiserver/pkg/storage/errors"
)

// Update turns a function that changes an existing object into a storage.UpdateFunc.
func Update(change func(current runtime.Object) (runtime.Object, error)) storage.UpdateFunc {
	return func(current runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
		updated, err := change(current)
		return updated, nil, err
	}
}

// Error translates an error of the storage into the one that a client gets.
func Error(err error, resource schema.GroupResource, name string) error {
	return storeerr.InterpretUpdateError(storeerr.InterpretGetError(err, resource, name), resource, name)
}
