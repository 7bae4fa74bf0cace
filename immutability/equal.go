package immutability

import "reflect"

// absent is the value of a key that is not there.
type absent struct{}

func lookup(object map[string]any, key string) any {
	if v, present := object[key]; present {
		return v
	}
	return absent{}
}

// equal says whether two values are equal where n is what the policy knows of
// them: strictly and deeply, but for the order of sets. It may say no of values
// that only differ where a node below owns a rule; the walk that follows a no
// decides that.
func (p *Policy) equal(n *node, a, b any) bool {
	if p.loose {
		a, b = emptied(a), emptied(b)
	}
	switch a := a.(type) {
	case map[string]any:
		switch b := b.(type) {
		case map[string]any:
			return sameMap(a, b) || p.equalObjects(n, a, b)
		case absent:
			return p.loose && p.equalObjects(n, a, nil)
		}
		return false
	case []any:
		b, isList := b.([]any)
		return isList && p.equalLists(n, a, b)
	case absent:
		if b, isObject := b.(map[string]any); isObject && p.loose {
			return p.equalObjects(n, nil, b)
		}
	}
	if n != nil && n.canonical != nil {
		return equalScalars(n.meaning(a), n.meaning(b))
	}
	return equalScalars(a, b)
}

// equalBelow is equal for a value inside of one that is being compared, where a
// node of its own may have been freed.
func (p *Policy) equalBelow(n *node, a, b any) bool {
	return n.isFree() || p.equal(n, a, b)
}

// isFree says whether n frees all of its value.
func (n *node) isFree() bool { return n != nil && n.owns && !n.live }

func (p *Policy) equalObjects(n *node, a, b map[string]any) bool {
	uneven := p.loose || n != nil && n.carved
	if len(a) != len(b) && !uneven {
		return false
	}
	for key, value := range a {
		if !p.equalBelow(n.child(key), value, lookup(b, key)) {
			return false
		}
	}
	if !uneven {
		return true
	}
	for key, value := range b {
		if _, seen := a[key]; !seen && !p.equalBelow(n.child(key), absent{}, value) {
			return false
		}
	}
	return true
}

func (p *Policy) equalLists(n *node, a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	if sameList(a, b) {
		return true
	}
	if kind, _ := n.listType(); kind == setList {
		return p.matchValues(n, a, b).complete()
	}
	for i := range a {
		if !p.equalBelow(n.item(i), a[i], b[i]) {
			return false
		}
	}
	return true
}

// equalScalars compares anything that is neither an object nor a list.
func equalScalars(a, b any) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case nil:
		return b == nil
	case absent:
		_, ok := b.(absent)
		return ok
	}
	if x, ok := numberOf(a); ok {
		y, ok := numberOf(b)
		return ok && x == y
	}
	// JSON has no other values. A caller's own must not make == panic.
	return reflect.DeepEqual(a, b)
}

// emptied is absent for a value that declarations take for absent. Objects that
// hold only such values are found by equalObjects.
func emptied(v any) any {
	switch x := v.(type) {
	case nil:
		return absent{}
	case []any:
		if len(x) == 0 {
			return absent{}
		}
	case map[string]any:
		if len(x) == 0 {
			return absent{}
		}
	}
	return v
}

// meaning is v as its node compares it.
func (n *node) meaning(v any) any {
	if _, isAbsent := v.(absent); isAbsent {
		return v
	}
	return n.canonical(v)
}

func sameMap(a, b map[string]any) bool {
	return len(a) == len(b) && reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}

func sameList(a, b []any) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
