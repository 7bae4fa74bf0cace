package lint

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"holdfast.dev/holdfast/parameters"
)

// isSwitch says that a parameter chooses between a few ways to render.
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

// candidates are a few values of a parameter: its default or an example first,
// then such that are as good where it is used.
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
	if definition.Default != nil {
		first = *definition.Default
	}
	switch definition.Type {
	case parameters.Boolean:
		return append(given(first), "true", "false")
	case parameters.Integer, parameters.Number:
		return append(given(first), "3", "5")
	case parameters.Array:
		return append(given(first), `["holdfast-a"]`, `["holdfast-b","holdfast-c"]`)
	case parameters.Map:
		return append(given(first), `{"holdfast-a":"a"}`, `{"holdfast-b":"b"}`)
	}
	return append([]string{first}, likes(first)...)
}

func given(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// likes are other values of the kind that a text seems to be: a truth, a number,
// a quantity, or any text.
func likes(text string) []string {
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
