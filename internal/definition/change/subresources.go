package change

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/finding"
)

// subresources reports changed subresources and selectable fields of a version.
func (c *comparison) subresources(index int, old, updated *definition.CustomResourceDefinitionVersion) {
	path := fmt.Sprintf("spec.versions[%d]", index)
	var before, after apiextensionsv1.CustomResourceSubresources
	if old.Subresources != nil {
		before = *old.Subresources
	}
	if updated.Subresources != nil {
		after = *updated.Subresources
	}
	add := func(name, message, reason string, severity finding.Severity) {
		c.add(Change{
			Rule: subresourceRule, Severity: severity, Path: path + ".subresources." + name,
			Version: updated.Name, Message: message, Reason: reason,
		})
	}
	switch {
	case before.Status == nil && after.Status != nil:
		add("status", "the status subresource is new", "writes of the object itself no longer change the status", finding.Error)
	case before.Status != nil && after.Status == nil:
		add("status", "the status subresource is gone", "controllers that write the status get 404", finding.Error)
	}
	switch {
	case before.Scale != nil && after.Scale == nil:
		add("scale", "the scale subresource is gone", "kubectl scale and autoscalers get 404", finding.Error)
	case before.Scale == nil && after.Scale != nil:
		add("scale", "the scale subresource is new", "", finding.Note)
	case !reflect.DeepEqual(before.Scale, after.Scale):
		add("scale", "the paths of the scale subresource changed", "kubectl scale and autoscalers change other fields", finding.Warning)
	}
	c.scaled(path+".subresources.scale", before.Scale, after.Scale, updated.Name)
	for _, field := range old.SelectableFields {
		if !slices.Contains(updated.SelectableFields, field) {
			c.add(Change{
				Rule: selectableRule, Severity: finding.Error, Path: path + ".selectableFields", Version: updated.Name,
				Message: field.JSONPath + " is no longer selectable", Reason: "requests with this field selector get 400",
			})
		}
	}
}

// scaled reports the fields that the scale subresource reads from now on. Objects may have other values there.
func (c *comparison) scaled(path string, before, after *apiextensionsv1.CustomResourceSubresourceScale, version string) {
	if after == nil {
		return
	}
	if before == nil {
		before = &apiextensionsv1.CustomResourceSubresourceScale{}
	}
	text := func(path *string) string {
		if path == nil {
			return ""
		}
		return *path
	}
	for _, field := range []struct{ name, before, after, want string }{
		{"specReplicasPath", before.SpecReplicasPath, after.SpecReplicasPath, "a number from 0 to 2147483647"},
		{"statusReplicasPath", before.StatusReplicasPath, after.StatusReplicasPath, "a number from 0 to 2147483647"},
		{"labelSelectorPath", text(before.LabelSelectorPath), text(after.LabelSelectorPath), "a text"},
	} {
		if field.after == "" || field.before == field.after {
			continue
		}
		at := strings.TrimPrefix(field.after, ".")
		c.add(Change{
			Rule: subresourceRule, Severity: finding.Note, Path: path + "." + field.name, Version: version, Field: at, hit: withError,
			Message: at + " has to be " + field.want, Reason: "the server refuses objects with another value",
		})
	}
}
