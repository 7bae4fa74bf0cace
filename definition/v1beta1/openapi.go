package v1beta1

import apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"

// OpenAPIModelName has the type published under upstream's name.
func (CustomResourceDefinition) OpenAPIModelName() string {
	return apiextensionsv1beta1.CustomResourceDefinition{}.OpenAPIModelName()
}

// OpenAPIModelName has the type published under upstream's name.
func (CustomResourceDefinitionList) OpenAPIModelName() string {
	return apiextensionsv1beta1.CustomResourceDefinitionList{}.OpenAPIModelName()
}
