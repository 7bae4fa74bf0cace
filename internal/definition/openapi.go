package definition

import apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

// OpenAPIModelName returns upstream's name, so that the type is published under
// it.
func (CustomResourceDefinition) OpenAPIModelName() string {
	return apiextensionsv1.CustomResourceDefinition{}.OpenAPIModelName()
}

// OpenAPIModelName returns upstream's name, so that the type is published under
// it.
func (CustomResourceDefinitionList) OpenAPIModelName() string {
	return apiextensionsv1.CustomResourceDefinitionList{}.OpenAPIModelName()
}
