package pack

import (
	"bytes"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/parameters"
)

// Resources are the package as a server keeps it, in a namespace.
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

// VersionName is the name of the package's OperatorVersion.
func (p *Package) VersionName() string {
	return api.OperatorVersionName(p.Operator.Name, p.Operator.AppVersion, p.Operator.OperatorVersion)
}

// Definitions are the parameters and plans as package parameters knows them.
func (p *Package) Definitions() *parameters.Version {
	_, version := p.Resources("")
	return version.Definitions()
}

func (p *Param) resource() api.Parameter {
	required := p.Required == nil || *p.Required
	immutable := p.Immutable != nil && *p.Immutable
	parameter := api.Parameter{
		Name: p.Name, DisplayName: p.DisplayName, Description: p.Description,
		Required: &required, Trigger: p.Trigger, Type: p.Type, Immutable: &immutable,
	}
	if text, set := plain(p.Default); set {
		parameter.Default = &text
	}
	for _, allowed := range p.Enum {
		text, _ := plain(allowed)
		parameter.Enum = append(parameter.Enum, text)
	}
	return parameter
}

// plain is a YAML value as the text that is stored: text and numbers as they
// are, lists and objects in the JSON form, which is YAML too.
func plain(raw json.RawMessage) (string, bool) {
	var value any
	if len(raw) == 0 || kjson.Unmarshal(raw, &value) != nil || value == nil {
		return "", false
	}
	switch value := value.(type) {
	case string:
		return value, true
	case map[string]any, []any:
		compact := &bytes.Buffer{}
		if err := json.Compact(compact, raw); err != nil {
			return "", false
		}
		return compact.String(), true
	default:
		return fmt.Sprint(value), true
	}
}
