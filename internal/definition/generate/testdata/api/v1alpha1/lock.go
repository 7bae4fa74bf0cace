// Package v1alpha1 is another version of the sample API, with another kind.
// +groupName=harbour.example.com
package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Lock is a kind with one version.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=locks
type Lock struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +immutable
	// +required
	Spec *LockSpec `json:"spec"`
}

// LockSpec is empty but for a width.
type LockSpec struct {
	// Width is in metres.
	Width int64 `json:"width"`
	// Depth may be cleared and changed, but not set later.
	// +k8s:update=NoSet
	// +optional
	Depth *int64 `json:"depth,omitempty"`
}
