package compare

import (
	"fmt"
	"strings"

	"holdfast.dev/holdfast/bench/manifest"
)

// resource is a generated custom resource.
type resource struct {
	group string
	// name is the singular name in lower case.
	name   string
	fields int
}

type (
	object = manifest.Map
	list   = manifest.List
)

func encode(obj object) []byte { return manifest.Encode(obj) }

func (r resource) plural() string { return r.name + "s" }

func (r resource) kind() string { return strings.ToUpper(r.name[:1]) + r.name[1:] }

// parts is the number of parts of spec. The fields that fill no part are strings.
func (r resource) parts() (parts, texts int) { return r.fields / partFields, r.fields % partFields }

func partName(i int) string { return fmt.Sprintf("part%03d", i) }

func textName(i int) string { return fmt.Sprintf("text%02d", i) }

// definition returns the CustomResourceDefinition.
func (r resource) definition() object {
	properties := object{"region": described("The region that all parts run in.", object{"type": "string", "maxLength": 64})}
	parts, texts := r.parts()
	for i := range parts {
		properties[partName(i)] = partSchema()
	}
	for i := range texts {
		properties[textName(i)] = described("A text that the controller copies to the status.", object{"type": "string", "maxLength": 64})
	}
	spec := object{"type": "object", "properties": properties, "x-kubernetes-validations": list{
		object{"rule": "self.region == oldSelf.region", "message": "region is fixed"},
	}}
	status := object{"type": "object", "properties": object{"phase": object{"type": "string"}}}
	return object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": object{"name": r.plural() + "." + r.group},
		"spec": object{
			"group": r.group, "scope": "Namespaced", "names": object{"plural": r.plural(), "kind": r.kind()},
			"versions": list{object{
				"name": "v1", "served": true, "storage": true, "subresources": object{"status": object{}},
				"schema": object{"openAPIV3Schema": object{
					"type": "object", "required": list{"spec"}, "properties": object{"status": status, "spec": spec},
				}},
			}},
		},
	}
}

// instance returns an object of the resource. Objects of two generations differ in two fields.
func (r resource) instance(name string, generation int) object {
	spec := object{"region": "north-1"}
	parts, texts := r.parts()
	for i := range parts {
		spec[partName(i)] = part(partName(i), 3)
	}
	for i := range texts {
		spec[textName(i)] = "a text of some words"
	}
	if parts > 0 {
		spec[partName(0)] = part(partName(0), generation%1000)
	} else {
		spec[textName(0)] = fmt.Sprint("text ", generation)
	}
	return object{
		"apiVersion": r.group + "/v1", "kind": r.kind(),
		"metadata": object{
			"name": name, "namespace": "default", "labels": object{"app": "fleet", "generation": fmt.Sprint(generation)},
		},
		"spec": spec,
	}
}

// change returns a merge patch that changes two fields.
func (r resource) change(generation int) object {
	spec := object{textName(0): fmt.Sprint("text ", generation)}
	if parts, _ := r.parts(); parts > 0 {
		spec = object{partName(0): object{"replicas": generation % 1000}}
	}
	return object{"metadata": object{"labels": object{"generation": fmt.Sprint(generation)}}, "spec": spec}
}
