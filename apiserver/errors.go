package apiserver

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"
	storeerr "k8s.io/apiserver/pkg/storage/errors"
)

// simpleUpdate adapts a change of an object that must exist.
func simpleUpdate(change func(current runtime.Object) (runtime.Object, error)) storage.UpdateFunc {
	return func(current runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
		updated, err := change(current)
		return updated, nil, err
	}
}

// storageError says what an error of the storage means to a client.
func storageError(err error, resource schema.GroupResource, name string) error {
	return storeerr.InterpretUpdateError(storeerr.InterpretGetError(err, resource, name), resource, name)
}
