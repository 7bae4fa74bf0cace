package ownership

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/value"
)

// Field is one field of an object and who has it.
type Field struct {
	Path  Path
	Value any
	// Applied says that client-side apply owns the field; Managers are those who
	// apply it on the server's side.
	Applied  bool
	Managers []string
	// Set is who wrote the value last, a command where that is remembered.
	Set Source
}

// Owned says whether apply owns the field, of whichever side.
func (f *Field) Owned() bool { return f.Applied || len(f.Managers) > 0 }

// Owners tells, for every field of an object in the view of client-side apply, who
// has it. The note says what could not be read. Fields come in the order of their
// names, items of lists in theirs.
func Owners(t *Type, obj map[string]any, entries []metav1.ManagedFieldsEntry, commands Commands) (fields []Field, note string) {
	o := owners{managers: newManagers(entries), commands: commands}
	o.managers.view = t.Managed.root
	if text := lastApplied(obj); text != "" {
		config := t.parse(text)
		o.config, note = config.values, config.note
	}
	shown := judged(obj)
	if meta, ok := shown["metadata"].(map[string]any); ok && len(meta) == 0 {
		// All that was in it is the server's.
		delete(shown, "metadata")
	}
	o.follow(t.Applied.root, shown)
	return o.fields, note
}

// owners gathers fields.
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
	case isList && len(list) > 0 && n.shape == members:
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
