package ownership

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/value"
)

// Field is one field of an object and its owners.
type Field struct {
	Path  Path
	Value any
	// Applied means that client-side apply owns the field. Managers are the managers
	// that own it by server-side apply.
	Applied  bool
	Managers []string
	// Set is the source of the last write, with its command if that is known.
	Set Source
}

// Owned reports whether client-side or server-side apply owns the field.
func (f *Field) Owned() bool { return f.Applied || len(f.Managers) > 0 }

// Owners returns every field of an object, in the view of client-side apply, with its
// owners. The note says what could not be read. Fields are sorted by name, items of
// lists have the order of the list.
func Owners(t *Type, obj map[string]any, entries []metav1.ManagedFieldsEntry, commands Commands) (fields []Field, note string) {
	o := owners{managers: newManagers(entries), commands: commands}
	o.managers.view = t.Managed.root
	var applied *plan
	if text := lastApplied(obj); text != "" {
		config := t.parse(text)
		if note = config.note; config.values != nil {
			applied = config.plan()
		}
	}
	shown := judgedPart(obj)
	if meta, ok := shown["metadata"].(map[string]any); ok && len(meta) == 0 {
		// The server sets all metadata that this object has.
		delete(shown, "metadata")
	}
	o.follow(t.Applied.root, applied, shown)
	return o.fields, note
}

// owners collects fields.
type owners struct {
	managers *managers
	commands Commands
	path     []value.Step
	fields   []Field
}

// follow adds the fields of a value at n. p is its plan in the configuration, nil if that does
// not have it.
func (o *owners) follow(n *node, p *plan, v any) {
	object, isObject := v.(map[string]any)
	list, isList := v.([]any)
	switch {
	case isObject && len(object) > 0 && (n.shape == record || n.shape == mapping):
		for _, name := range slices.Sorted(maps.Keys(object)) {
			o.path = append(o.path, nameStep(name))
			o.follow(n.child(name), p.inside(p.child(name)), object[name])
			o.path = o.path[:len(o.path)-1]
		}
	case isList && len(list) > 0 && n.shape == keyed:
		newItems(list, n.keys).each(func(item map[string]any, earlier int) {
			o.path = append(o.path, itemStep(n.keys, item))
			o.follow(n.elem, p.inside(p.item(item, earlier)), item)
			o.path = o.path[:len(o.path)-1]
		})
	case isList && len(list) > 0 && n.shape == set:
		for _, member := range list {
			o.path = append(o.path, memberStep(member))
			o.follow(&node{}, p.inside(p.member(member)), member)
			o.path = o.path[:len(o.path)-1]
		}
	default:
		o.add(p, v)
	}
}

// inside returns the plan of a field inside of the value. The fields of a leaf have its
// plan: apply sets or clears them together.
func (p *plan) inside(child *plan) *plan {
	if p != nil && p.isLeaf {
		return p
	}
	return child
}

func (o *owners) add(p *plan, v any) {
	f := Field{Path: newPath(o.path), Value: v, Applied: p != nil}
	f.Set = o.lastSet(o.path)
	for i := range o.managers.entries {
		entry := &o.managers.entries[i]
		if entry.Operation == metav1.ManagedFieldsOperationApply && covers(o.managers.view, o.managers.set(i), o.path) {
			f.Managers = append(f.Managers, entry.Manager)
		}
	}
	o.fields = append(o.fields, f)
}

// LastSet returns the source of the last write to a field, with an empty name if it is not
// known. The object may lack the field: then it is the command that removed it.
func LastSet(t *Type, entries []metav1.ManagedFieldsEntry, commands Commands, path Path) Source {
	o := owners{managers: newManagers(entries), commands: commands}
	o.managers.view = t.Managed.root
	return o.lastSet(path.Steps())
}

func (o *owners) lastSet(path []value.Step) Source {
	set, _ := o.managers.latest(path, func(*metav1.ManagedFieldsEntry) bool { return true })
	if command, ok := o.commands.source(newPath(path).String(), set); ok {
		return command
	}
	return set
}
