package definition

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// CustomResourceDefinition says which custom resources are served, and how.
type CustomResourceDefinition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   CustomResourceDefinitionSpec   `json:"spec"`
	Status CustomResourceDefinitionStatus `json:"status,omitempty"`
}

// CustomResourceDefinitionList is a list of definitions.
type CustomResourceDefinitionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CustomResourceDefinition `json:"items"`
}

// CustomResourceDefinitionSpec is what the author of a definition wants.
type CustomResourceDefinitionSpec struct {
	Group      string                                        `json:"group"`
	Names      apiextensionsv1.CustomResourceDefinitionNames `json:"names"`
	Scope      apiextensionsv1.ResourceScope                 `json:"scope"`
	Versions   []CustomResourceDefinitionVersion             `json:"versions"`
	Conversion *apiextensionsv1.CustomResourceConversion     `json:"conversion,omitempty"`

	// Prune is a request for all versions at once. It is never stored: Prepare
	// takes it over into the flags of the versions.
	Prune *bool `json:"prune,omitempty"`
	// PreserveUnknownFields is true, once stored, when pruning is off in all
	// versions, and nil otherwise. In a request false turns pruning on.
	PreserveUnknownFields *bool `json:"preserveUnknownFields,omitempty"`

	// Defects are what a request in another API version said that this form
	// cannot hold. They travel with the object from the conversion to Validate,
	// which reports them.
	Defects field.ErrorList `json:"-"`
}

// CustomResourceDefinitionVersion is one version of the resource.
type CustomResourceDefinitionVersion struct {
	Name               string                    `json:"name"`
	Served             bool                      `json:"served"`
	Storage            bool                      `json:"storage"`
	Deprecated         bool                      `json:"deprecated,omitempty"`
	DeprecationWarning *string                   `json:"deprecationWarning,omitempty"`
	Schema             *CustomResourceValidation `json:"schema,omitempty"`

	// Prune is false, once stored, when pruning is off in this version and on in
	// another, and nil otherwise. In a request true turns pruning on.
	Prune *bool `json:"prune,omitempty"`

	Subresources             *apiextensionsv1.CustomResourceSubresources      `json:"subresources,omitempty"`
	AdditionalPrinterColumns []apiextensionsv1.CustomResourceColumnDefinition `json:"additionalPrinterColumns,omitempty"`
	SelectableFields         []apiextensionsv1.SelectableField                `json:"selectableFields,omitempty"`
}

// CustomResourceValidation holds the schema of a version.
type CustomResourceValidation struct {
	// OpenAPIV3Schema is the schema as JSON, with every extension it came with.
	OpenAPIV3Schema json.RawMessage `json:"openAPIV3Schema,omitempty"`
}

// CustomResourceDefinitionStatus is what became of the definition.
type CustomResourceDefinitionStatus struct {
	Conditions         []apiextensionsv1.CustomResourceDefinitionCondition `json:"conditions"`
	AcceptedNames      apiextensionsv1.CustomResourceDefinitionNames       `json:"acceptedNames"`
	StoredVersions     []string                                            `json:"storedVersions"`
	ObservedGeneration int64                                               `json:"observedGeneration,omitempty"`

	// Skeletons are the shapes that the schemas have, see ShowSkeletonAnnotation.
	Skeletons []VersionSkeleton `json:"skeletons,omitempty"`
}

// VersionSkeleton is the shape of one version's schema.
type VersionSkeleton struct {
	Version string          `json:"version"`
	Schema  json.RawMessage `json:"schema"`
}

// Version returns the version of that name, nil if there is none.
func (s *CustomResourceDefinitionSpec) Version(name string) *CustomResourceDefinitionVersion {
	for i := range s.Versions {
		if s.Versions[i].Name == name {
			return &s.Versions[i]
		}
	}
	return nil
}

// StorageVersion is the name of the version that objects are stored in, empty
// if there is none.
func (s *CustomResourceDefinitionSpec) StorageVersion() string {
	for _, v := range s.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return ""
}
