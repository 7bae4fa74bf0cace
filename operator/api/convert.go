package api

import (
	"fmt"
	"maps"
	"slices"

	"holdfast.dev/holdfast/parameters"
)

// OperatorVersionName is the name of an OperatorVersion, as in
// kafka-2.5.0-1.3.0; KUDO leaves out an app version that there is not.
func OperatorVersionName(operator, appVersion, version string) string {
	if appVersion == "" {
		return fmt.Sprintf("%s-%s", operator, version)
	}
	return fmt.Sprintf("%s-%s-%s", operator, appVersion, version)
}

// Definition is a parameter as package parameters knows it.
func (p *Parameter) Definition() parameters.Definition {
	return parameters.Definition{
		Name:      p.Name,
		Type:      parameters.Type(p.Type),
		Required:  p.Required == nil || *p.Required,
		Default:   p.Default,
		Enum:      p.Enum,
		Trigger:   p.Trigger,
		Immutable: p.Immutable != nil && *p.Immutable,
	}
}

// Definitions are the parameters and plans as package parameters knows them.
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

// Task finds a task by its name, nil if there is none.
func (s *OperatorVersionSpec) Task(name string) *Task {
	for i := range s.Tasks {
		if s.Tasks[i].Name == name {
			return &s.Tasks[i]
		}
	}
	return nil
}

// Newest is the highest of some versions that a task of kind KudoOperator may mean,
// nil for none.
func Newest(versions []OperatorVersion, wanted TaskSpec) *OperatorVersion {
	var newest *OperatorVersion
	for i := range versions {
		spec := &versions[i].Spec
		if spec.Operator.Name != wanted.Package || wanted.AppVersion != "" && wanted.AppVersion != spec.AppVersion ||
			wanted.OperatorVersion != "" && wanted.OperatorVersion != spec.Version {
			continue
		}
		// One that is no version is not higher than any.
		if newest == nil {
			newest = &versions[i]
		} else if order, err := parameters.Compare(spec.Version, newest.Spec.Version); err == nil && order > 0 {
			newest = &versions[i]
		}
	}
	return newest
}

// RunningPlan is the plan that an Instance is busy with, "" for none.
func (i *Instance) RunningPlan() string {
	name := i.Spec.PlanExecution.PlanName
	if name == "" {
		return ""
	}
	// The controller may have ended the plan, and not yet cleared its name.
	if status := i.Status.PlanStatus[name]; status.UID == i.Spec.PlanExecution.UID && status.Status.Ended() {
		return ""
	}
	return name
}
