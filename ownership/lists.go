package ownership

// Lists says which lists of a type have items with keys, as server-side apply merges them. It stands at one place in the type; the zero
// value knows no such list.
type Lists struct{ at *node }

// Lists returns the lists of the type. The type may be nil.
func (t *Type) Lists() Lists {
	if t == nil || t.Managed == nil {
		return Lists{}
	}
	return Lists{t.Managed.root}
}

// Field returns the lists below a field or the key of a map.
func (l Lists) Field(name string) Lists {
	if l.at == nil {
		return Lists{}
	}
	return Lists{l.at.child(name)}
}

// Item returns the lists below the items of a list.
func (l Lists) Item() Lists {
	if l.at == nil {
		return Lists{}
	}
	return Lists{l.at.elem}
}

// Keys returns the fields that tell the items of the list at this place apart, nil if there are none.
func (l Lists) Keys() []string {
	if l.at == nil || l.at.shape != keyed {
		return nil
	}
	return l.at.keys.names
}
