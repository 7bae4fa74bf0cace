package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Operator describes an operator. Its OperatorVersions refer to it.
//
// +kubebuilder:object:root=true
type Operator struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec OperatorSpec `json:"spec,omitempty"`
}

// OperatorSpec is information for users; the controller does not read it.
type OperatorSpec struct {
	Description       string       `json:"description,omitempty"`
	KudoVersion       string       `json:"kudoVersion,omitempty"`
	KubernetesVersion string       `json:"kubernetesVersion,omitempty"`
	Maintainers       []Maintainer `json:"maintainers,omitempty"`
	URL               string       `json:"url,omitempty"`
	NamespaceManifest string       `json:"namespaceManifest,omitempty"`
}

// Maintainer is a contact of an operator.
type Maintainer struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
}

// OperatorList is a list of Operators.
//
// +kubebuilder:object:root=true
type OperatorList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Operator `json:"items"`
}
