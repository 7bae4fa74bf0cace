package berth

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// GroupVersion is the API group and version of the types.
var GroupVersion = schema.GroupVersion{Group: "harbour.example.com", Version: "v1"}

// AddToScheme registers the types in a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Berth{}, &BerthList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// Berth is a place where a ship lies.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=bt,categories=harbour
// +kubebuilder:printcolumn:name=Dock,type=string,JSONPath=`.spec.dock`
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
type Berth struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BerthSpec   `json:"spec"`
	Status BerthStatus `json:"status,omitempty"`
}

// BerthList is a list of berths.
//
// +kubebuilder:object:root=true
type BerthList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Berth `json:"items"`
}

// BerthSpec is the desired state.
//
// +kubebuilder:validation:XValidation:rule="self.minDepth <= self.maxDepth",message="minDepth must not exceed maxDepth"
type BerthSpec struct {
	// Dock is the location of the berth. It is immutable: testdata/markers.json adds
	// the marker, because controller-gen has none for it.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^[a-z0-9-]+$`
	Dock string `json:"dock"`
	// Cranes is the number of cranes.
	//
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	Cranes *int32 `json:"cranes,omitempty"`
	// +kubebuilder:default=0
	// +optional
	MinDepth int64 `json:"minDepth,omitempty"`
	// +kubebuilder:default=20
	// +optional
	MaxDepth int64 `json:"maxDepth,omitempty"`
	// Side is the side of a ship that faces the quay.
	//
	// +kubebuilder:validation:Enum=port;starboard
	// +kubebuilder:default=port
	// +optional
	Side string `json:"side,omitempty"`
	// Power is a number of amperes, or the name of a plug.
	//
	// +optional
	Power *intstr.IntOrString `json:"power,omitempty"`
	// Stay is the time that a ship may stay.
	//
	// +optional
	Stay *metav1.Duration `json:"stay,omitempty"`
	// Bollards are identified by name.
	//
	// +listType=map
	// +listMapKey=name
	// +optional
	Bollards []Bollard `json:"bollards,omitempty"`
	// Settings are passed to the cranes. Their fields are not specified.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +optional
	Settings *runtime.RawExtension `json:"settings,omitempty"`
}

// Bollard is a post to which ships are moored.
type Bollard struct {
	Name string `json:"name"`
	// +kubebuilder:validation:Maximum=500
	Tons int64 `json:"tons"`
}

// BerthStatus is the observed state.
type BerthStatus struct {
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions has no omitempty: a client without conditions sends null.
	//
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions"`
}
