package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/parameters"
)

// OperatorVersionName returns the name of an OperatorVersion, such as
// kafka-2.5.0-1.3.0. As in KUDO, an empty app version is left out.
func OperatorVersionName(operator, appVersion, version string) string {
	if appVersion == "" {
		return fmt.Sprintf("%s-%s", operator, version)
	}
	return fmt.Sprintf("%s-%s-%s", operator, appVersion, version)
}

// InstanceName returns the name of an Instance that a user gives no name, as in KUDO.
func InstanceName(operator string) string { return operator + "-instance" }

// ValueType returns the type of the parameter, from either of the two fields.
func (p *Parameter) ValueType() string {
	if p.Type != "" {
		return p.Type
	}
	return p.OldType
}

// SameContent reports whether two OperatorVersions have the same content. It does not matter
// which release of Holdfast wrote them: in which field a type is, and whether a default that
// every release assumes is written down.
func SameContent(a, b OperatorVersionSpec) bool {
	return apiequality.Semantic.DeepEqual(a.normal(), b.normal())
}

// normal returns the spec with every parameter written as this release does.
func (s *OperatorVersionSpec) normal() *OperatorVersionSpec {
	normal := s.DeepCopy()
	for i := range normal.Parameters {
		p := &normal.Parameters[i]
		definition := p.Definition()
		p.Type, p.OldType = p.ValueType(), ""
		p.Required, p.Immutable = &definition.Required, &definition.Immutable
		if text, found := definition.DefaultText(); found {
			p.Default = &text
		}
	}
	return normal
}

// Definition converts the parameter to the type that package parameters works with.
func (p *Parameter) Definition() parameters.Definition {
	return parameters.Definition{
		Name:      p.Name,
		Type:      parameters.Type(p.ValueType()),
		Required:  p.Required != nil && *p.Required,
		Default:   p.Default,
		Enum:      p.Enum,
		Trigger:   p.Trigger,
		Immutable: p.Immutable != nil && *p.Immutable,
	}
}

// Definitions converts the parameters and the names of the plans to the type that
// package parameters works with.
func (v *OperatorVersion) Definitions() *parameters.Version {
	version := &parameters.Version{
		Name:     v.Name,
		Operator: v.Spec.Operator.Name,
		Version:  v.Spec.Version,
		Plans:    slices.Sorted(maps.Keys(v.Spec.Plans)),
	}
	for i := range v.Spec.Parameters {
		version.Definitions = append(version.Definitions, v.Spec.Parameters[i].Definition())
	}
	return version
}

// ParameterText returns the text of a parameter value that is written as YAML in a file,
// here as JSON. Text stays as it is, numbers and booleans are formatted, and lists and
// objects become compact JSON, which is also YAML. It returns false for null and for
// invalid JSON: the parameter then has no value.
func ParameterText(raw json.RawMessage) (string, bool) {
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

// Task returns the task with a name, nil if there is none.
func (s *OperatorVersionSpec) Task(name string) *Task {
	for i := range s.Tasks {
		if s.Tasks[i].Name == name {
			return &s.Tasks[i]
		}
	}
	return nil
}

// Newest returns the highest of the versions that match a task of kind KudoOperator,
// nil if none matches.
func Newest(versions []OperatorVersion, wanted TaskSpec) *OperatorVersion {
	var newest *OperatorVersion
	for i := range versions {
		spec := &versions[i].Spec
		if spec.Operator.Name != wanted.Package || wanted.AppVersion != "" && wanted.AppVersion != spec.AppVersion ||
			wanted.OperatorVersion != "" && wanted.OperatorVersion != spec.Version {
			continue
		}
		// A text that cannot be parsed as a version never replaces another match.
		if newest == nil {
			newest = &versions[i]
		} else if order, err := parameters.Compare(spec.Version, newest.Spec.Version); err == nil && order > 0 {
			newest = &versions[i]
		}
	}
	return newest
}

// RunningPlan returns the name of the plan that is running, "" if none is.
func (i *Instance) RunningPlan() string {
	name := i.Spec.PlanExecution.PlanName
	if name == "" {
		return ""
	}
	// The controller stores the status of the ended plan first and clears the name in
	// the spec afterwards.
	if status := i.Status.PlanStatus[name]; status.UID == i.Spec.PlanExecution.UID && status.Status.Ended() {
		return ""
	}
	return name
}
