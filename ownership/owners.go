package ownership

import (
	"maps"
	"slices"
	"time"

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
	if text := lastApplied(obj); text != "" {
		config := t.parse(text)
		o.config, note = config.values, config.note
	}
	shown := judgedPart(obj)
	if meta, ok := shown["metadata"].(map[string]any); ok && len(meta) == 0 {
		// The server sets all metadata that this object has.
		delete(shown, "metadata")
	}
	o.follow(t.Applied.root, shown)
	return o.fields, note
}

// owners collects fields.
type owners struct {
	managers *managers
	commands Commands
	config   map[string]any
	path     []value.Step
	fields   []Field
}

func (o *owners) follow(n *node, v any) {
	object, isObject := v.(map[string]any)
	list, isList := v.([]any)
	switch {
	case isObject && len(object) > 0 && (n.shape == record || n.shape == mapping):
		for _, name := range slices.Sorted(maps.Keys(object)) {
			o.step(nameStep(name), n.child(name), object[name])
		}
	case isList && len(list) > 0 && n.shape == keyed:
		for _, item := range list {
			if object, ok := item.(map[string]any); ok {
				o.step(itemStep(n.keys, object), n.elem, item)
			}
		}
	case isList && len(list) > 0 && n.shape == set:
		for _, member := range list {
			o.step(memberStep(member), &node{}, member)
		}
	default:
		o.add(v)
	}
}

func (o *owners) step(step value.Step, n *node, v any) {
	o.path = append(o.path, step)
	o.follow(n, v)
	o.path = o.path[:len(o.path)-1]
}

func (o *owners) add(v any) {
	f := Field{Path: newPath(o.path), Value: v}
	f.Applied = o.config != nil && !isAbsent(lookup(o.config, o.path))
	f.Set, _ = o.managers.latest(o.path, func(*metav1.ManagedFieldsEntry) bool { return true })
	for i := range o.managers.entries {
		entry := &o.managers.entries[i]
		if entry.Operation == metav1.ManagedFieldsOperationApply && covers(o.managers.view, o.managers.set(i), o.path) {
			f.Managers = append(f.Managers, entry.Manager)
		}
	}
	command, ok := o.commands.Find(f.Path.String())
	if ok && (f.Set.Name == "" || f.Set.Name == command.Manager) {
		f.Set = Source{Name: command.Command, Time: command.Time.In(time.UTC)}
	}
	o.fields = append(o.fields, f)
}
