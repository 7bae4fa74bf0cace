package render

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/api"
)

// Dependency is the Instance of another operator that a task of kind KudoOperator
// installs.
type Dependency struct {
	// Task is the spec of the task.
	Task api.TaskSpec
	// OperatorVersion is the name of the OperatorVersion that the task selects.
	OperatorVersion string
	// Templates are the templates of the package that has the task. The task's file of
	// parameters is one of them.
	Templates map[string]string
}

// Instance renders the Instance. It has a Consent for all parameters in the file of
// parameters, as if they were passed with -P on the command line. Errors name the
// template.
func (d Dependency) Instance(ctx context.Context, values Values) (*unstructured.Unstructured, error) {
	name, err := Template(ctx, "instanceName", d.Task.InstanceName, values)
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = values.Name + "-" + d.Task.Package
	}
	spec := map[string]any{"operatorVersion": map[string]any{"name": d.OperatorVersion}}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": api.GroupVersion.String(), "kind": "Instance",
		"metadata": map[string]any{"name": name}, "spec": spec,
	}}
	file := d.Task.ParameterFile
	if file == "" {
		return object, nil
	}
	source, found := d.Templates[file]
	if !found {
		return nil, fmt.Errorf("there is no template %s", file)
	}
	text, err := Template(ctx, file, source, values)
	if err != nil {
		return nil, err
	}
	wanted, err := parameters(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	spec["parameters"] = wanted
	return object, api.SetConsent(object, api.Consent{OperatorVersion: d.OperatorVersion, Names: slices.Sorted(maps.Keys(wanted))})
}

// parameters decodes a file of parameters to the text of their values. A parameter that
// is null is left out.
func parameters(text string) (map[string]any, error) {
	document, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(document, &raw); err != nil {
		return nil, fmt.Errorf("not an object of names and values: %w", err)
	}
	values := map[string]any{}
	for name, content := range raw {
		if value, set := api.ParameterText(content); set {
			values[name] = value
		}
	}
	return values, nil
}
