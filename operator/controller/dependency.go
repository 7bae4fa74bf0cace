package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
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
		name = e.instance.Name + "-" + spec.Package
	}
	version := api.OperatorVersionName(spec.Package, spec.AppVersion, spec.OperatorVersion)
	if spec.OperatorVersion == "" {
		if version, err = e.newest(ctx, e.instance.Namespace, spec); err != nil {
			return nil, err
		}
	}
	if err := e.dependencyBound(ctx, name, version); err != nil {
		return nil, err
	}
	content := map[string]any{"operatorVersion": map[string]any{"name": version}}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": api.GroupVersion.String(), "kind": "Instance",
		"metadata": map[string]any{"name": name}, "spec": content,
	}}
	if spec.ParameterFile != "" {
		text, err := e.template(ctx, at, spec.ParameterFile)
		if err != nil {
			return nil, err
		}
		given, err := values(text)
		if err != nil {
			return nil, fatalf("%s: %w", spec.ParameterFile, err)
		}
		content["parameters"] = given
		// What the file names is given for this version, as with -P on the command line.
		if err := api.SetGiven(object, api.Given{OperatorVersion: version, Names: slices.Sorted(maps.Keys(given))}); err != nil {
			return nil, err
		}
	}
	return object, e.mark(at, object)
}

// dependencyBound refuses to run another content of an OperatorVersion than the one
// that the Instance of it had: who asked for our plan did not ask for that.
func (e *execution) dependencyBound(ctx context.Context, name, version string) error {
	there, err := e.controller.instance(ctx, cache.ObjectName{Namespace: e.instance.Namespace, Name: name})
	if err != nil || there == nil || there.Spec.OperatorVersion.Name != version {
		return err
	}
	now, err := e.controller.version(ctx, e.instance.Namespace, version)
	if err != nil || now == nil {
		return err
	}
	if err := bound(there, now); err != nil {
		return fmt.Errorf("instance %s: %w", name, err)
	}
	return nil
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
