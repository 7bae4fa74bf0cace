package main

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Request asks what Kubernetes does with an object.
type Request struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Stage is "kind", "create", "update", or the name of a subresource that updates objects.
	Stage string `json:"stage"`
	// Object is the object that the client sends.
	Object json.RawMessage `json:"object,omitempty"`
	// Old is the stored object, of an update.
	Old json.RawMessage `json:"old,omitempty"`
}

// Answer is what Kubernetes does with an object. The stage "kind" answers with Properties.
type Answer struct {
	// Failure says why there is no answer: Kubernetes cannot decode the object, or panics.
	Failure string `json:"failure,omitempty"`
	// Unknown are the fields that this version of Kubernetes does not know.
	Unknown []string `json:"unknown,omitempty"`
	// Defaulted is the object with its defaults, after the conversion to the internal type and back.
	// Admission sees it.
	Defaulted json.RawMessage `json:"defaulted,omitempty"`
	// Stored is the object that clients read after the write, if there are no errors.
	Stored   json.RawMessage `json:"stored,omitempty"`
	Errors   []Error         `json:"errors,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
	// Cells is the row that kubectl prints.
	Cells []any `json:"cells,omitempty"`
	// Fields are the values that field selectors compare.
	Fields     map[string]string `json:"fields,omitempty"`
	Properties *Properties       `json:"properties,omitempty"`
}

// Error is one cause of a response 422.
type Error struct {
	Type   string `json:"type"`
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

// Properties are the answers that do not depend on an object.
type Properties struct {
	Namespaced          bool                           `json:"namespaced"`
	CreateOnUpdate      bool                           `json:"createOnUpdate"`
	UnconditionalUpdate bool                           `json:"unconditionalUpdate"`
	Dependents          string                         `json:"dependents"`
	Columns             []metav1.TableColumnDefinition `json:"columns"`
	// ResetFields are the fields that a write ignores, by subresource; "" is the main
	// resource.
	ResetFields map[string][]string `json:"resetFields"`
}
