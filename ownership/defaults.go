package ownership

import "holdfast.dev/holdfast/value"

// isApplied reports whether v, at a path of an object, is the value of a leaf of the
// configuration. The server may have added defaults inside of it, or have set the
// default for a value that it leaves out.
func (j *judgement) isApplied(p *plan, obj map[string]any, path []value.Step, v any) bool {
	if j.mode.Equal(v, p.value) {
		return true
	}
	var without map[string]any
	switch p.value.(type) {
	case value.Absent:
		without, _ = drop(obj, path).(map[string]any)
	case map[string]any, []any:
		if !contains(v, p.value) {
			// Defaults add fields, they change none.
			return false
		}
		without, _ = place(obj, path, p.value).(map[string]any)
	default:
		return false
	}
	return j.defaultsTo(without, path, v)
}

// isDefault reports whether the server sets the live value of a field if the object
// does not have the field.
func (j *judgement) isDefault(path []value.Step, live any) bool {
	without, _ := drop(j.Live, path).(map[string]any)
	return j.defaultsTo(without, path, live)
}

// isText reports whether a path names a key of a map of texts, which has no default.
func (n *node) isText(path []value.Step) bool {
	for _, step := range path[:len(path)-1] {
		if n = n.below(step); n == nil {
			return false
		}
	}
	return n.texts
}

// maxDefaults is how often a judgement sets the defaults of an object. The cost of that grows
// with the object, and the number of findings with the write. More findings than this are
// counted in the warnings, but not named.
const maxDefaults = 64

// defaultsTo reports whether a field has a value once the server has set the defaults of
// an object.
func (j *judgement) defaultsTo(obj map[string]any, path []value.Step, v any) bool {
	if len(path) == 0 || j.Type.Applied.root.isText(path) {
		return false
	}
	complete, ok := j.withDefaults(obj)
	return ok && j.mode.Equal(lookup(complete, path), v)
}

// withDefaults returns an object with the defaults that the server sets. ok is false if they are
// not known, or if the judgement has set defaults too often.
func (j *judgement) withDefaults(obj map[string]any) (complete map[string]any, ok bool) {
	if j.Type.Default == nil || j.Partial {
		return nil, false
	}
	if j.defaults++; j.defaults > maxDefaults {
		return nil, false
	}
	complete, err := j.Type.Default(obj)
	return complete, err == nil
}
