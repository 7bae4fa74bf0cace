package writes

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/audit"
	requestmetrics "k8s.io/apiserver/pkg/endpoints/handlers/metrics"
)

// prepareApply decodes a configuration. It returns false if it is not regular.
func (r *request) prepareApply() bool {
	configuration, ok := Decode(r.body)
	if !ok {
		return false
	}
	audit.LogRequestPatch(r.http.Context(), r.body)
	r.verb, r.creates = requestmetrics.Patch, true
	// The field manager may change a configuration, so each attempt to store the object has its own.
	r.change = func(old runtime.Object, isStored bool) (runtime.Object, error) {
		sent := configuration
		if configuration = nil; sent == nil {
			if sent, ok = Decode(r.body); !ok {
				return nil, apierrors.NewInternalError(errors.New("the body of the request has changed"))
			}
		}
		if !isStored {
			var err error
			if old, err = r.scope.Creater.New(r.scope.Kind); err != nil {
				return nil, fmt.Errorf("failed to create new object: %w", err)
			}
		}
		force := r.options.Force != nil && *r.options.Force
		return r.managers.Apply(old, &unstructured.Unstructured{Object: sent}, r.manager, force)
	}
	return true
}
