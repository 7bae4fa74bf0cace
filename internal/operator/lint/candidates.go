package lint

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"holdfast.dev/holdfast/parameters"
)

// isSwitch reports whether a parameter has a few values that can change which parts of a
// template are rendered: a boolean or an enum.
func isSwitch(definition *parameters.Definition) bool {
	switch definition.Type {
	case parameters.Boolean:
		return true
	case parameters.Integer, parameters.Number:
		return false
	}
	if len(definition.Enum) > 0 {
		return true
	}
	return definition.Default != nil && (*definition.Default == "true" || *definition.Default == "false")
}

// candidates returns a few valid values of a parameter, its default first if it has one.
func candidates(definition *parameters.Definition) []string {
	if len(definition.Enum) > 0 {
		all := slices.Clone(definition.Enum)
		if definition.Default != nil {
			all = append([]string{*definition.Default}, all...)
		}
		slices.Sort(all[1:])
		return slices.Compact(all)
	}
	first := ""
	if definition.Default != nil && *definition.Default != parameters.Null {
		first = *definition.Default
	}
	switch definition.Type {
	case parameters.Boolean:
		return append(nonEmpty(first), "true", "false")
	case parameters.Integer, parameters.Number:
		return append(nonEmpty(first), "3", "5")
	case parameters.Array:
		return append(nonEmpty(first), `["holdfast-a"]`, `["holdfast-b","holdfast-c"]`)
	case parameters.Map:
		return append(nonEmpty(first), `{"holdfast-a":"a"}`, `{"holdfast-b":"b"}`)
	}
	return append([]string{first}, similar(first)...)
}

// nonEmpty returns a list with the text, or an empty list if the text is empty.
func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// similar returns other values of the type that a text seems to have: a boolean, a
// number, a quantity, or else any text.
func similar(text string) []string {
	if text == "true" || text == "false" {
		return []string{"true", "false"}
	}
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return []string{"3", "5"}
	}
	if quantity, err := resource.ParseQuantity(text); err == nil {
		more := quantity.DeepCopy()
		more.Add(quantity)
		return []string{more.String()}
	}
	return []string{"holdfast-a", "holdfast-b"}
}
