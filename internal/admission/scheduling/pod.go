package scheduling

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission"
)

// podOf returns the pod that a request writes, or nil if the request is for another
// resource or a subresource.
func podOf(a admission.Attributes) *corev1.Pod {
	if a.GetResource().GroupResource() != corev1.Resource("pods") || a.GetSubresource() != "" {
		return nil
	}
	pod, _ := a.GetObject().(*corev1.Pod)
	return pod
}
