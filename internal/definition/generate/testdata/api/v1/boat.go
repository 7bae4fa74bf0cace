// Package v1 is a sample API for the tests: the markers of kubebuilder and those of Holdfast.
// +kubebuilder:object:generate=true
// +groupName=harbour.example.com
package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"holdfast.dev/holdfast/internal/definition/generate/testdata/api/shared"
)

// Boat is a vessel.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=bt,categories=all
// +kubebuilder:printcolumn:name="Hull",type=string,JSONPath=`.spec.hull`
type Boat struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BoatSpec   `json:"spec"`
	Status BoatStatus `json:"status,omitempty"`
}

// Common is embedded in several specs.
type Common struct {
	// Registration is on the papers.
	// +immutable
	// +kubebuilder:validation:Pattern=`^[A-Z]{2}-[0-9]+$`
	Registration string `json:"registration"`
}

// Flags are signal flags. A flag that was hoisted stays.
// +listType=set
// +additionOnly
type Flags []string

// Rig is the kind of sails.
// +kubebuilder:validation:Enum=sloop;ketch;yawl
type Rig string

// Radio is a call sign.
// +k8s:update=NoModify
type Radio string

// Mast is one of the masts.
type Mast struct {
	Name   string             `json:"name"`
	Height *resource.Quantity `json:"height,omitempty"`
}

// BoatSpec is what the owner wants.
// +kubebuilder:validation:XValidation:rule="self.crew <= 100",message="no more than 100"
type BoatSpec struct {
	Common `json:",inline"`

	// Hull is the material.
	// +immutable
	// +kubebuilder:validation:MaxLength=32
	Hull string `json:"hull"`

	// Keel was chosen with the markers of Kubernetes.
	// +k8s:immutable
	Keel string `json:"keel"`

	// Name cannot be set later here. The CEL rules of controller-gen allow that.
	// +k8s:immutable
	// +optional
	Name string `json:"name,omitempty"`

	// Berth may be set once.
	// +setOnce
	// +optional
	Berth string `json:"berth,omitempty"`

	// Captain stays set, and may change.
	// +k8s:update=NoSet,NoUnset
	// +optional
	Captain string `json:"captain,omitempty"`

	// Engines has a set that needs the keys of its items.
	// +listType=map
	// +listMapKey=name
	// +k8s:update=NoUnset,NoRemoveItem
	Engines []Mast `json:"engines,omitempty"`

	// Radio has a type with a marker of Kubernetes.
	Radio Radio `json:"radio"`

	// Engine cannot be set, cleared or changed later.
	// +k8s:update=NoSet
	// +k8s:update=NoUnset
	// +k8s:update=NoModify
	// +optional
	Engine *string `json:"engine,omitempty"`

	// Masts stay; what they are made of may change.
	// +listType=map
	// +listMapKey=name
	// +immutable=keys
	Masts []Mast `json:"masts,omitempty"`

	// Moorings may come, and none may go.
	// +k8s:update=NoRemoveItem
	// +listType=map
	// +listMapKey=name
	Moorings []Mast `json:"moorings,omitempty"`

	// Cargo can only be unloaded.
	// +deletionOnly
	// +optional
	Cargo map[string]resource.Quantity `json:"cargo,omitempty"`

	// Flags has the marker of its type.
	Flags Flags `json:"flags,omitempty"`

	// Home is a type of another package, with a marker.
	// +optional
	Home *shared.Coordinates `json:"home,omitempty"`

	// Owners is a list of a type of another package.
	// +listType=map
	// +listMapKey=name
	// +additionOnly
	Owners []shared.Owner `json:"owners,omitempty"`

	// Extra is kept as it is.
	// +noPrune
	// +optional
	Extra map[string]string `json:"extra,omitempty"`

	// Crew has a default.
	// +kubebuilder:default=2
	Crew int32 `json:"crew"`

	Rig  Rig                `json:"rig,omitempty"`
	Port intstr.IntOrString `json:"port,omitempty"`

	// Notes are removed when they are empty.
	// +normalize=undefined
	// +optional
	Notes []string `json:"notes,omitempty"`

	// Selector and Template come from Kubernetes.
	Selector *metav1.LabelSelector       `json:"selector,omitempty"`
	Env      []corev1.EnvVar             `json:"env,omitempty"`
	Raw      runtime.RawExtension        `json:"raw,omitempty"`
	Nested   map[string][]map[string]Rig `json:"nested,omitempty"`
}

// BoatStatus is what was seen.
type BoatStatus struct {
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BoatList is a list of boats.
// +kubebuilder:object:root=true
type BoatList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Boat `json:"items"`
}
