// Package v1 has markers with arguments that do not exist.
// +groupName=unparsed.example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Unparsed is a kind.
type Unparsed struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +immutable=values
	A string `json:"a"`
	// +normalize
	B []string `json:"b,omitempty"`
	// +additionOnly=true
	C map[string]string `json:"c"`
	// +k8s:update=Never
	D string `json:"d"`
	// +k8s:update=NoSet,NoSet
	F string `json:"f"`
	// +immutable=true
	G string `json:"g"`
	// +noPrune:deep=true
	E string `json:"e"`
}
