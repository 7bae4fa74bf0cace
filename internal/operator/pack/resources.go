package pack

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/parameters"
)

// Resources returns the Operator and the OperatorVersion of the package, for a namespace.
func (p *Package) Resources(namespace string) (*api.Operator, *api.OperatorVersion) {
	operator := &api.Operator{
		TypeMeta:   metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "Operator"},
		ObjectMeta: metav1.ObjectMeta{Name: p.Operator.Name, Namespace: namespace},
		Spec: api.OperatorSpec{
			Description: p.Operator.Description, KudoVersion: p.Operator.KUDOVersion, KubernetesVersion: p.Operator.KubernetesVersion,
			Maintainers: p.Operator.Maintainers, URL: p.Operator.URL, NamespaceManifest: p.Operator.NamespaceManifest,
		},
	}
	version := &api.OperatorVersion{
		TypeMeta:   metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "OperatorVersion"},
		ObjectMeta: metav1.ObjectMeta{Name: p.VersionName(), Namespace: namespace},
		Spec: api.OperatorVersionSpec{
			Operator: corev1.ObjectReference{Kind: "Operator", Name: p.Operator.Name},
			Version:  p.Operator.OperatorVersion, AppVersion: p.Operator.AppVersion,
			Templates: p.Templates, Tasks: p.tasks(), Plans: p.Operator.Plans,
		},
	}
	for i := range p.Params.Parameters {
		version.Spec.Parameters = append(version.Spec.Parameters, p.Params.Parameters[i].resource())
	}
	return operator.DeepCopy(), version.DeepCopy()
}

// VersionName returns the name of the package's OperatorVersion.
func (p *Package) VersionName() string {
	return api.OperatorVersionName(p.Operator.Name, p.Operator.AppVersion, p.Operator.OperatorVersion)
}

// Definitions converts the parameters and the names of the plans to the type that
// package parameters works with.
func (p *Package) Definitions() *parameters.Version {
	_, version := p.Resources("")
	return version.Definitions()
}

// resource converts a parameter of params.yaml to one of an OperatorVersion. As in KUDO, an
// array or a map without a default gets the default null there.
func (p *Param) resource() api.Parameter {
	required := p.Required == nil || *p.Required
	immutable := p.Immutable != nil && *p.Immutable
	parameter := api.Parameter{
		Name: p.Name, DisplayName: p.DisplayName, Description: p.Description,
		Required: &required, Trigger: p.Trigger, Type: p.Type, Immutable: &immutable,
	}
	definition := parameters.Definition{Type: parameters.Type(p.Type)}
	if text, set := api.ParameterText(p.Default); set {
		definition.Default = &text
	}
	if text, set := definition.DefaultText(); set {
		parameter.Default = &text
	}
	for _, allowed := range p.Enum {
		text, _ := api.ParameterText(allowed)
		parameter.Enum = append(parameter.Enum, text)
	}
	return parameter
}
