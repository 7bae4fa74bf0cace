// Package v1 is an example of an API in Go, with markers of kubebuilder and of Holdfast.
// "holdfast schema generate ./examples/boats/..." writes its CustomResourceDefinition.
//
// +groupName=harbour.example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Boat is a vessel in the harbour.
//
// +kubebuilder:subresource:status
type Boat struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec BoatSpec `json:"spec"`
	// +optional
	Status BoatStatus `json:"status,omitzero"`
}

// BoatSpec is what the owner wants.
type BoatSpec struct {
	// Hull is the material of the hull.
	// +immutable
	Hull string `json:"hull"`

	// Masts stay where they are. Their sails may change.
	// +immutable=keys
	// +listType=map
	// +listMapKey=name
	Masts []Mast `json:"masts"`

	// Owners may be added, and stay.
	// +additionOnly
	// +listType=set
	// +optional
	Owners []string `json:"owners,omitempty"`

	// Crew is the number of sailors.
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	Crew int32 `json:"crew,omitempty"`
}

// Mast is one of the masts.
type Mast struct {
	Name string `json:"name"`
	// +optional
	Sail string `json:"sail,omitempty"`
}

// BoatStatus is what the harbour master saw.
type BoatStatus struct {
	// +optional
	Berth string `json:"berth,omitempty"`
}
