package definition

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// CustomResourceDefinition defines a custom resource that the server serves.
//
// +kubebuilder:object:root=true
type CustomResourceDefinition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   CustomResourceDefinitionSpec   `json:"spec"`
	Status CustomResourceDefinitionStatus `json:"status,omitempty"`
}

// CustomResourceDefinitionList is a list of definitions.
//
// +kubebuilder:object:root=true
type CustomResourceDefinitionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CustomResourceDefinition `json:"items"`
}

// CustomResourceDefinitionSpec is the part of a definition that its author
// writes.
//
// +kubebuilder:object:generate=true
type CustomResourceDefinitionSpec struct {
	Group      string                                        `json:"group"`
	Names      apiextensionsv1.CustomResourceDefinitionNames `json:"names"`
	Scope      apiextensionsv1.ResourceScope                 `json:"scope"`
	Versions   []CustomResourceDefinitionVersion             `json:"versions"`
	Conversion *apiextensionsv1.CustomResourceConversion     `json:"conversion,omitempty"`

	// Prune is a request to turn pruning on or off in all versions. It is never
	// stored: Prepare replaces it by PreserveUnknownFields.
	Prune *bool `json:"prune,omitempty"`
	// PreserveUnknownFields in a stored definition is true if pruning is off in all
	// versions, and nil otherwise. In a request, it is the opposite of Prune: false
	// turns pruning on in all versions, true turns it off.
	PreserveUnknownFields *bool `json:"preserveUnknownFields,omitempty"`

	// ConversionErrors are set by the conversion from another API version, for
	// fields of the request that this form cannot express. Validate reports them.
	ConversionErrors ConversionErrors `json:"-"`
}

// ConversionErrors are the errors that a conversion found. The type exists
// because field.ErrorList has no DeepCopy methods.
type ConversionErrors field.ErrorList

// DeepCopy returns a copy that shares no error with in. The BadValue of an
// error is shared; nothing changes it.
func (in ConversionErrors) DeepCopy() ConversionErrors {
	if in == nil {
		return nil
	}
	out := make(ConversionErrors, len(in))
	for i, err := range in {
		copied := *err
		out[i] = &copied
	}
	return out
}

// CustomResourceDefinitionVersion is one version of the resource.
//
// +kubebuilder:object:generate=true
type CustomResourceDefinitionVersion struct {
	Name               string                    `json:"name"`
	Served             bool                      `json:"served"`
	Storage            bool                      `json:"storage"`
	Deprecated         bool                      `json:"deprecated,omitempty"`
	DeprecationWarning *string                   `json:"deprecationWarning,omitempty"`
	Schema             *CustomResourceValidation `json:"schema,omitempty"`

	// Prune in a stored definition is false if pruning is off in this version and
	// on in another, and nil otherwise. In a request, it turns pruning on or off in
	// this version.
	Prune *bool `json:"prune,omitempty"`

	Subresources             *apiextensionsv1.CustomResourceSubresources      `json:"subresources,omitempty"`
	AdditionalPrinterColumns []apiextensionsv1.CustomResourceColumnDefinition `json:"additionalPrinterColumns,omitempty"`
	SelectableFields         []apiextensionsv1.SelectableField                `json:"selectableFields,omitempty"`
}

// CustomResourceValidation holds the schema of a version.
//
// +kubebuilder:object:generate=false
type CustomResourceValidation struct {
	// OpenAPIV3Schema is the schema as JSON, with every extension that the client
	// sent. Copies of a definition share these bytes, so nothing may change them; assign
	// other bytes instead.
	OpenAPIV3Schema json.RawMessage `json:"openAPIV3Schema,omitempty"`
}

// DeepCopyInto copies the schema. The bytes of the JSON are shared: they are most of the memory
// of a definition, and a server has several copies of it.
func (in *CustomResourceValidation) DeepCopyInto(out *CustomResourceValidation) { *out = *in }

// DeepCopy returns a copy, see DeepCopyInto.
func (in *CustomResourceValidation) DeepCopy() *CustomResourceValidation {
	if in == nil {
		return nil
	}
	out := *in
	return &out
}

// CustomResourceDefinitionStatus is the part of a definition that the server
// writes.
//
// +kubebuilder:object:generate=true
type CustomResourceDefinitionStatus struct {
	Conditions         []apiextensionsv1.CustomResourceDefinitionCondition `json:"conditions"`
	AcceptedNames      apiextensionsv1.CustomResourceDefinitionNames       `json:"acceptedNames"`
	StoredVersions     []string                                            `json:"storedVersions"`
	ObservedGeneration int64                                               `json:"observedGeneration,omitempty"`

	// Skeletons are the skeletons of the schemas, see ShowSkeletonAnnotation.
	Skeletons []VersionSkeleton `json:"skeletons,omitempty"`
}

// VersionSkeleton is the skeleton of one version's schema, see package skeleton.
//
// +kubebuilder:object:generate=true
type VersionSkeleton struct {
	Version string          `json:"version"`
	Schema  json.RawMessage `json:"schema"`
}

// Version returns the version with that name, or nil.
func (s *CustomResourceDefinitionSpec) Version(name string) *CustomResourceDefinitionVersion {
	for i := range s.Versions {
		if s.Versions[i].Name == name {
			return &s.Versions[i]
		}
	}
	return nil
}

// StorageVersion returns the name of the version that objects are stored in. It
// is empty if no version has the flag.
func (s *CustomResourceDefinitionSpec) StorageVersion() string {
	for _, v := range s.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return ""
}
