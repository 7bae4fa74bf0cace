package render

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/operator/api"
)

// Dependency is what a task of kind KudoOperator wants: an Instance of another
// operator.
type Dependency struct {
	Task api.TaskSpec
	// OperatorVersion is the name of the version that the task means.
	OperatorVersion string
	// Templates are those of the package, the file of parameters among them.
	Templates map[string]string
}

// Instance renders the Instance. What the file of parameters names is given for the
// version, as with -P on the command line. The error names the template.
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
	given, err := parameters(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	spec["parameters"] = given
	return object, api.SetConsent(object, api.Consent{OperatorVersion: d.OperatorVersion, Names: slices.Sorted(maps.Keys(given))})
}

// parameters reads a file of parameters: text and numbers are stored as they are,
// lists and objects in their JSON form, which is YAML too. What is null is not
// given.
func parameters(text string) (map[string]any, error) {
	document, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(document, &raw); err != nil {
		return nil, fmt.Errorf("not an object of names and values: %w", err)
	}
	given := map[string]any{}
	for name, content := range raw {
		var value any
		if err := kjson.Unmarshal(content, &value); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		switch value := value.(type) {
		case nil:
		case string:
			given[name] = value
		case map[string]any, []any:
			compact := &bytes.Buffer{}
			if err := json.Compact(compact, content); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			given[name] = compact.String()
		default:
			given[name] = fmt.Sprint(value)
		}
	}
	return given, nil
}
