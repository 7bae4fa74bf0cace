package fieldhistory

// known has the values that hashes stand for. Only [State] needs it; a nil known learns nothing.
type known map[Hash]any

// add remembers the value that a hash stands for, unless the value is not known as a whole.
func (k known) add(hash Hash, v any) {
	if k != nil && !hasHash(v) && hash.matches(v) {
		k[hash] = v
	}
}

// learn remembers the values of the hashes in a content that matches a value.
func (k known) learn(v, content any) {
	if k == nil {
		return
	}
	switch content := content.(type) {
	case Hash:
		k.add(content, v)
	case map[string]any:
		object, _ := v.(map[string]any)
		for name, child := range content {
			k.learn(field(object, name), child)
		}
	case []any:
		list, _ := v.([]any)
		for i, child := range content {
			if i < len(list) {
				k.learn(list[i], child)
			}
		}
	}
}

// resolve returns a value in which known values take the places of their hashes.
func (k known) resolve(v any) any {
	switch v := v.(type) {
	case Hash:
		if value, ok := k[v]; ok {
			return value
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, child := range v {
			out[name] = k.resolve(child)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, child := range v {
			out[i] = k.resolve(child)
		}
		return out
	}
	return v
}
