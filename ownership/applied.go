package ownership

import (
	"fmt"
	"maps"
	"strings"
	"sync"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/internal/nesting"
	"holdfast.dev/holdfast/value"
)

const (
	// LastApplied is the annotation in which client-side apply stores the
	// configuration that it applied last.
	LastApplied = "kubectl.kubernetes.io/last-applied-configuration"
	// Ignore is the annotation that turns off the judgement of writes to an object,
	// if the stored object has it with the value "ignore".
	Ignore = "holdfast.dev/ownership"
	// Ignored is the value of the annotation Ignore.
	Ignored = "ignore"
)

// Type describes the objects of a kind.
type Type struct {
	// Applied and Managed are the views of client-side and server-side apply.
	Applied, Managed *View
	// Canonical decodes a configuration into the form in which the server stores
	// objects of the kind, without setting defaults. It also returns the names of
	// fields that the kind does not have. Nil means that configurations are used as
	// they are.
	Canonical func(config []byte) (canonical map[string]any, unknown []string, err error)
	// Default returns an object with the defaults that the server sets. It does not
	// change the object that it is given. Nil means that the defaults are not known.
	Default func(obj map[string]any) (map[string]any, error)
	// BuiltIn means that kubectl has a Go type of the kind. Then null in a
	// configuration clears a field, and an empty list is stored as no list.
	BuiltIn bool
	// Redacted means that values of the kind are not shown.
	Redacted bool
	// Free returns the names of the fields at the top of an object, or of a configuration, that a controller
	// computes. Apply does not own them, and they are not judged. Nil means that there are none.
	Free func(obj map[string]any) []string
}

// mode returns how two values of the kind are compared.
func (t *Type) mode() value.Mode {
	if t.BuiltIn {
		return value.Served
	}
	return value.Applied
}

// configuration is a last-applied configuration. Apply owns the fields in it.
type configuration struct {
	// values are the fields of the configuration, with their values in canonical form.
	// Null stands for a field whose absence is owned.
	values map[string]any
	// version is the apiVersion of the configuration.
	version string
	// note says which part of it cannot be checked.
	note string
	plan func() *plan
}

// serverSet are the fields of metadata that the server sets, or that cannot change.
var serverSet = []string{
	"name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
	"deletionGracePeriodSeconds", "managedFields", "selfLink",
}

// maxUnknown is how many unknown fields a note names.
const maxUnknown = 3

// parse reads a last-applied configuration.
func (t *Type) parse(text string) configuration {
	if nesting.JSON([]byte(text)) != nil {
		return configuration{note: nesting.Error{What: "the last-applied configuration"}.Error()}
	}
	var raw map[string]any
	if err := utiljson.Unmarshal([]byte(text), &raw); err != nil {
		return configuration{note: printable("the last-applied configuration is malformed: " + err.Error())}
	}
	canonical, unknown, err := t.canonical(raw, text)
	if err != nil {
		return configuration{note: printable("the last-applied configuration is malformed: " + err.Error())}
	}
	if canonical == nil || raw == nil {
		return configuration{note: "the last-applied configuration is malformed: it is no object"}
	}
	written, canonical := judgedPart(raw), judgedPart(canonical)
	for _, name := range t.free(raw) {
		delete(written, name)
		delete(canonical, name)
	}
	version, _ := raw["apiVersion"].(string)
	config := configuration{values: forms{nulls: t.BuiltIn}.object(t.Applied.root, written, canonical), version: version}
	config.plan = sync.OnceValue(func() *plan {
		p := newPlan(t.Applied.root, value.Step{}, config.values, canonical)
		return &p
	})
	if len(unknown) > 0 {
		config.note = unknownNote(unknown)
	}
	return config
}

func unknownNote(unknown []string) string {
	more := ""
	if n := len(unknown) - maxUnknown; n > 0 {
		unknown, more = unknown[:maxUnknown], fmt.Sprintf(" and %d more", n)
	}
	return printable("the last-applied configuration has unknown fields: " + strings.Join(unknown, ", ") + more)
}

// judgedPart returns an object without the fields that are never judged: its type,
// the status, and metadata that the server sets. The result shares the rest with
// the object.
func judgedPart(obj map[string]any) map[string]any {
	out := maps.Clone(obj)
	delete(out, "apiVersion")
	delete(out, "kind")
	delete(out, "status")
	if meta, ok := out["metadata"].(map[string]any); ok {
		meta = maps.Clone(meta)
		for _, name := range serverSet {
			delete(meta, name)
		}
		if annotations, ok := meta["annotations"].(map[string]any); ok {
			if _, there := annotations[LastApplied]; there {
				annotations = maps.Clone(annotations)
				delete(annotations, LastApplied)
				meta["annotations"] = annotations
			}
			if len(annotations) == 0 {
				delete(meta, "annotations")
			}
		}
		// An empty metadata stays: every object has it, so only its fields can change.
		out["metadata"] = meta
	}
	return out
}

// lastApplied returns the last-applied configuration of an object, "" if it has
// none.
func lastApplied(obj map[string]any) string { return annotation(obj, LastApplied) }

func annotation(obj map[string]any, name string) string {
	meta, _ := obj["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	text, _ := annotations[name].(string)
	return text
}

func metadata(obj map[string]any, name string) string {
	meta, _ := obj["metadata"].(map[string]any)
	text, _ := meta[name].(string)
	return text
}
