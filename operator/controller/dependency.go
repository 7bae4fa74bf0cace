package controller

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/operator/api"
)

// dependency is the Instance of another operator that a task wants to be there.
// It is written like any other object, so that admission judges it and its plan
// has the rights of the same user.
func (e *execution) dependency(ctx context.Context, at place, task *api.Task) (*unstructured.Unstructured, error) {
	spec := task.Spec
	name, err := e.expand(ctx, at, "instanceName", spec.InstanceName)
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = spec.Package + "-instance"
	}
	version := api.OperatorVersionName(spec.Package, spec.AppVersion, spec.OperatorVersion)
	if spec.OperatorVersion == "" {
		if version, err = e.newest(ctx, e.instance.Namespace, spec.Package, spec.AppVersion); err != nil {
			return nil, err
		}
	}
	content := map[string]any{"operatorVersion": map[string]any{"name": version}}
	if spec.ParameterFile != "" {
		text, err := e.template(ctx, at, spec.ParameterFile)
		if err != nil {
			return nil, err
		}
		if content["parameters"], err = values(text); err != nil {
			return nil, fatalf("%s: %w", spec.ParameterFile, err)
		}
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": api.GroupVersion.String(), "kind": "Instance",
		"metadata": map[string]any{"name": name}, "spec": content,
	}}
	return object, e.mark(at, object)
}

// values reads a file of parameters: text stays as it is, everything else is
// stored in its JSON form, which is YAML too.
func values(text string) (map[string]any, error) {
	var read map[string]any
	if err := yaml.Unmarshal([]byte(text), &read); err != nil {
		return nil, err
	}
	for name, value := range read {
		if _, isText := value.(string); isText {
			continue
		}
		plain, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		read[name] = string(plain)
	}
	return read, nil
}
