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
