package writes

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/audit"
	requestmetrics "k8s.io/apiserver/pkg/endpoints/handlers/metrics"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/registry/rest"

	"holdfast.dev/holdfast/internal/apiserver/managers"
)

// prepareUpdate decodes the new object of an update. It returns false if the object is not that of the URL, or has an unknown field or an owner twice.
func (r *request) prepareUpdate() bool {
	obj, err := r.decodeUpdate()
	if err != nil || r.checkTarget(obj) != nil {
		return false
	}
	accessor, err := meta.Accessor(obj)
	if err != nil || hasDuplicateOwners(accessor.GetOwnerReferences()) {
		return false
	}
	if uid := accessor.GetUID(); uid != "" {
		r.preconditions = &metav1.Preconditions{UID: &uid}
	}
	r.verb = requestmetrics.Update
	// The store changes the object, so each attempt to store it has its own.
	r.change = func(old runtime.Object, _ bool) (runtime.Object, error) {
		sent := obj
		if obj = nil; sent == nil {
			if sent, err = r.decodeUpdate(); err != nil {
				return nil, err
			}
			if err := r.checkTarget(sent); err != nil {
				return nil, err
			}
		}
		if r.bare {
			return managers.WithoutEntries(sent), nil
		}
		return r.managers.Update(old, sent, r.manager), nil
	}
	return true
}

// decodeUpdate decodes the body of an update.
func (r *request) decodeUpdate() (runtime.Object, error) {
	info, err := negotiation.NegotiateInputSerializer(r.http, false, r.scope.Serializer)
	if err != nil {
		return nil, err
	}
	kind := r.scope.Kind
	obj, found, err := r.scope.Serializer.DecoderToVersion(info.StrictSerializer, r.scope.HubGroupVersion).Decode(r.body, &kind, r.storage.New())
	switch {
	case err != nil:
		return nil, err
	case found == nil || *found != kind:
		return nil, errIrregular
	}
	// The audit log has the object that the client has sent.
	audit.LogRequestObject(r.http.Context(), obj, kind.GroupVersion(), r.scope.Resource, r.scope.Subresource, r.scope.Serializer)
	if accessor, err := meta.Accessor(obj); err == nil {
		// As in the library, an object without a namespace gets that of the request.
		if err := rest.EnsureObjectNamespaceMatchesRequestNamespace(rest.ExpectedNamespaceForResource(r.namespace, r.scope.Resource), accessor); err != nil {
			return nil, err
		}
	}
	return obj, nil
}

// hasDuplicateOwners reports whether two owner references name one object.
func hasDuplicateOwners(owners []metav1.OwnerReference) bool {
	if len(owners) < 2 {
		return false
	}
	seen := make(map[types.UID]bool, len(owners))
	for i := range owners {
		if seen[owners[i].UID] {
			return true
		}
		seen[owners[i].UID] = true
	}
	return false
}
