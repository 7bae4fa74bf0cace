package managers

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/value"
)

// Has reports whether a value, decoded from JSON, has a field. An item of a list may leave out keys, which then have defaults.
func Has(v any, path fieldpath.Path) bool {
	_, found := Get(v, path)
	return found
}

// Get returns the value of a field.
func Get(v any, path fieldpath.Path) (any, bool) {
	for _, element := range path {
		var found bool
		if v, found = child(v, element); !found {
			return nil, false
		}
	}
	return v, true
}

// child returns the value that an element names in a map or a list.
func child(v any, element fieldpath.PathElement) (any, bool) {
	if element.FieldName != nil {
		fields, _ := v.(map[string]any)
		found, ok := fields[*element.FieldName]
		return found, ok
	}
	list, _ := v.([]any)
	for _, item := range list {
		if names(element, item) {
			return item, true
		}
	}
	return nil, false
}

// names reports whether an element names an item of a list.
func names(element fieldpath.PathElement, item any) bool {
	switch {
	case element.Value != nil:
		return value.Applied.Equal((*element.Value).Unstructured(), item)
	case element.Key == nil:
		return false
	}
	fields, isMap := item.(map[string]any)
	if !isMap {
		return false
	}
	for _, key := range *element.Key {
		if v, found := fields[key.Name]; found && !value.Applied.Equal(key.Value.Unstructured(), v) {
			return false
		}
	}
	return true
}

// Without returns a copy of a value without a field. It shares the parts that do not change.
func Without(v any, path fieldpath.Path) any {
	if len(path) == 0 {
		return v
	}
	inner, found := child(v, path[0])
	if !found {
		return v
	}
	if fields, isMap := v.(map[string]any); isMap {
		out := make(map[string]any, len(fields))
		for name, field := range fields {
			if name != *path[0].FieldName {
				out[name] = field
			} else if len(path) > 1 {
				out[name] = Without(inner, path[1:])
			}
		}
		return out
	}
	list, _ := v.([]any)
	out := make([]any, 0, len(list))
	done := false
	for _, item := range list {
		switch {
		case done || !names(path[0], item):
			out = append(out, item)
		case len(path) > 1:
			out = append(out, Without(item, path[1:]))
		}
		done = done || names(path[0], item)
	}
	return out
}
