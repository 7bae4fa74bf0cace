// Package informed is the base of admission plugins that read objects from an informer.
//
//	type Plugin struct{ informed.Handler }
//	plugin := Plugin{informed.NewHandler(informer.HasSynced, admission.Create)}
//	err := plugin.Wait(attributes) // before the plugin reads from the informer
package informed

import (
	"errors"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/tools/cache"
)

// Handler says which operations a plugin handles, and when the informer of the plugin has
// synced.
type Handler struct{ *admission.Handler }

// NewHandler returns the handler of a plugin.
func NewHandler(synced cache.InformerSynced, operations ...admission.Operation) Handler {
	h := admission.NewHandler(operations...)
	h.SetReadyFunc(admission.ReadyFunc(synced))
	return Handler{h}
}

// Wait waits until the informer has synced. If that takes too long, it rejects the request
// with the error of Kubernetes.
func (h Handler) Wait(a admission.Attributes) error {
	if h.WaitForReady() {
		return nil
	}
	return admission.NewForbidden(a, errors.New("not yet ready to handle request"))
}
