package v1beta1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/definition"
)

// CustomResourceDefinition defines a custom resource that the server serves.
//
// +kubebuilder:object:root=true
type CustomResourceDefinition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   CustomResourceDefinitionSpec              `json:"spec"`
	Status definition.CustomResourceDefinitionStatus `json:"status,omitempty"`
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
// writes. Version is the name of the first version, and of the only one if
// Versions is empty.
//
// +kubebuilder:object:generate=true
type CustomResourceDefinitionSpec struct {
	Group   string                                        `json:"group"`
	Version string                                        `json:"version,omitempty"`
	Names   apiextensionsv1.CustomResourceDefinitionNames `json:"names"`
	Scope   apiextensionsv1.ResourceScope                 `json:"scope"`

	Validation               *definition.CustomResourceValidation                  `json:"validation,omitempty"`
	Subresources             *apiextensionsv1.CustomResourceSubresources           `json:"subresources,omitempty"`
	Versions                 []CustomResourceDefinitionVersion                     `json:"versions,omitempty"`
	AdditionalPrinterColumns []apiextensionsv1beta1.CustomResourceColumnDefinition `json:"additionalPrinterColumns,omitempty"`
	SelectableFields         []apiextensionsv1.SelectableField                     `json:"selectableFields,omitempty"`

	Conversion *apiextensionsv1beta1.CustomResourceConversion `json:"conversion,omitempty"`

	// Prune is true if the server drops the fields of objects that the schema does
	// not specify, in all versions.
	Prune *bool `json:"prune,omitempty"`
	// PreserveUnknownFields is the opposite of Prune.
	PreserveUnknownFields *bool `json:"preserveUnknownFields,omitempty"`
}

// CustomResourceDefinitionVersion is one version of the resource.
//
// +kubebuilder:object:generate=true
type CustomResourceDefinitionVersion struct {
	Name                     string                                                `json:"name"`
	Served                   bool                                                  `json:"served"`
	Storage                  bool                                                  `json:"storage"`
	Deprecated               bool                                                  `json:"deprecated,omitempty"`
	DeprecationWarning       *string                                               `json:"deprecationWarning,omitempty"`
	Schema                   *definition.CustomResourceValidation                  `json:"schema,omitempty"`
	Prune                    *bool                                                 `json:"prune,omitempty"`
	Subresources             *apiextensionsv1.CustomResourceSubresources           `json:"subresources,omitempty"`
	AdditionalPrinterColumns []apiextensionsv1beta1.CustomResourceColumnDefinition `json:"additionalPrinterColumns,omitempty"`
	SelectableFields         []apiextensionsv1.SelectableField                     `json:"selectableFields,omitempty"`
}
