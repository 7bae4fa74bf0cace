package v1beta1

import apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"

// OpenAPIModelName returns upstream's name, so that the type is published under
// it.
func (CustomResourceDefinition) OpenAPIModelName() string {
	return apiextensionsv1beta1.CustomResourceDefinition{}.OpenAPIModelName()
}

// OpenAPIModelName returns upstream's name, so that the type is published under
// it.
func (CustomResourceDefinitionList) OpenAPIModelName() string {
	return apiextensionsv1beta1.CustomResourceDefinitionList{}.OpenAPIModelName()
}
