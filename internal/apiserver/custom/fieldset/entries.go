package fieldset

// Entries returns the managedFields of an object. An entry that is not an object is nil in the result.
func Entries(obj map[string]any) []map[string]any {
	metadata, _ := obj["metadata"].(map[string]any)
	items, _ := metadata["managedFields"].([]any)
	entries := make([]map[string]any, len(items))
	for i, item := range items {
		entries[i], _ = item.(map[string]any)
	}
	return entries
}

// OnlyObjects reports whether all values below an object are objects. Those of a set of fields are.
func OnlyObjects(obj map[string]any) bool {
	for _, v := range obj {
		child, ok := v.(map[string]any)
		if !ok || !OnlyObjects(child) {
			return false
		}
	}
	return true
}

// TextSize estimates the size of the JSON text of a set of fields.
func TextSize(fields map[string]any) int {
	const syntax = len(`"":{},`)
	size := syntax
	for key, value := range fields {
		size += len(key) + syntax
		if children, ok := value.(map[string]any); ok {
			size += TextSize(children)
		}
	}
	return size
}
