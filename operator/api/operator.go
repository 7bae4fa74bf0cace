package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Operator is what all versions of an operator have in common.
//
// +kubebuilder:object:root=true
type Operator struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec OperatorSpec `json:"spec,omitempty"`
}

// OperatorSpec describes an operator to people.
type OperatorSpec struct {
	Description       string       `json:"description,omitempty"`
	KudoVersion       string       `json:"kudoVersion,omitempty"`
	KubernetesVersion string       `json:"kubernetesVersion,omitempty"`
	Maintainers       []Maintainer `json:"maintainers,omitempty"`
	URL               string       `json:"url,omitempty"`
	NamespaceManifest string       `json:"namespaceManifest,omitempty"`
}

// Maintainer is somebody to write to.
type Maintainer struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
}

// OperatorList is a list of them.
//
// +kubebuilder:object:root=true
type OperatorList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Operator `json:"items"`
}
