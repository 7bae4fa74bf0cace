package skeleton

// Default sets, in place and at every depth, the default of each property that is
// absent, or null and not nullable. If the default is an object, the defaults below
// it are set too. Values are copied from the schema. Parts of the object without
// defaults are not visited.
func (sk *Skeleton) Default(obj map[string]any) {
	if obj != nil {
		defaultObject(sk.root, obj)
	}
}

func defaultObject(n *node, x map[string]any) {
	if n.within&hasDefaults == 0 {
		return
	}
	for _, name := range n.defaulted {
		if value, present := x[name]; !present || value == nil {
			setDefault(n.properties[name], x, name)
		}
	}
	for key, value := range x {
		if c, declared := n.properties[key]; declared {
			defaultValue(c, value)
			continue
		}
		for c := range n.undeclaredNodes(key) {
			if value == nil {
				setDefault(c, x, key)
				value = x[key]
			}
			defaultValue(c, value)
		}
	}
}

// setDefault sets key to its default. A null stays if it is nullable.
func setDefault(c *node, x map[string]any, key string) {
	if _, present := x[key]; present && c.nullable || c.fallback == nil {
		return
	}
	x[key] = deepCopy(c.fallback)
}

func defaultValue(n *node, x any) {
	switch x := x.(type) {
	case map[string]any:
		defaultObject(n, x)
	case []any:
		if n.within&hasDefaults == 0 {
			return
		}
		for i, item := range x {
			c := n.item(i)
			if item == nil && !c.nullable && c.fallback != nil {
				x[i] = deepCopy(c.fallback)
			}
			defaultValue(c, x[i])
		}
	}
}

func deepCopy(x any) any {
	switch x := x.(type) {
	case map[string]any:
		out := make(map[string]any, len(x))
		for key, value := range x {
			out[key] = deepCopy(value)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, item := range x {
			out[i] = deepCopy(item)
		}
		return out
	}
	return x
}
