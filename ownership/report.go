package ownership

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/value"
)

// Redacted is shown instead of a value of a Secret.
const Redacted = "<redacted>"

// Subject is an object with the data about the ownership of its fields. Its reports show the
// fields to a user.
type Subject struct {
	Type     *Type
	Object   map[string]any
	Managers []metav1.ManagedFieldsEntry
	// Commands are the commands that set the fields, as far as the server knows them.
	Commands Commands
}

// FieldReport is one field in a report.
type FieldReport struct {
	Path  Path   `json:"-"`
	Field string `json:"field"`
	// Value is the live value, nil if the object does not have the field.
	Value any `json:"value"`
	// Applied is the value applied last. It is set only in a report of drift.
	Applied *any `json:"applied,omitempty"`
	// Owner is empty for a free field.
	Owner string `json:"owner,omitempty"`
	// SetBy and At tell the last write, nil if that is not known.
	SetBy *string    `json:"setBy"`
	At    *time.Time `json:"at"`
}

// IsApplied reports whether the object has a last-applied configuration.
func (s Subject) IsApplied() bool { return lastApplied(s.Object) != "" }

// Fields returns the fields of the object. If all metadata is set by the server, metadata
// itself would be an empty field; it is left out. The note is not empty if the ownership is
// not fully known.
func (s Subject) Fields() (fields []Field, note string) {
	fields, note = Owners(s.Type, s.Object, s.Managers, s.Commands)
	isMetadata := func(f Field) bool { return f.Path.Len() == 1 && f.Path.Last().Name == "metadata" }
	return slices.DeleteFunc(fields, isMetadata), note
}

// OwnerReport returns all fields of the object with their owners. The note is that of Fields.
func (s Subject) OwnerReport() (report []FieldReport, note string) {
	fields, note := s.Fields()
	report = []FieldReport{}
	for _, f := range fields {
		report = append(report, s.newReport(f.Path, f.Value, f.owner(), f.Set))
	}
	return report, note
}

// DriftReport returns the fields of client-side apply whose live value is not the one that was
// applied last. The next apply changes them back.
func (s Subject) DriftReport() []FieldReport {
	report := []FieldReport{}
	for _, f := range s.Drift() {
		set := LastSet(s.Type, s.Managers, s.Commands, f.Path)
		field := s.newReport(f.Path, present(f.New), clientSideApply, set)
		applied := s.visible(f.Path, present(f.Applied))
		field.Applied = &applied
		report = append(report, field)
	}
	return report
}

// Drift compares the object with its last-applied configuration. It judges a write that
// would change the configuration into the object: the findings are the fields of the
// configuration that such a write changes. A configuration that cannot be read has none.
func (s Subject) Drift() []Finding {
	text := lastApplied(s.Object)
	applied, err := s.canonical(text)
	if err != nil {
		return nil
	}
	// The configuration may contain the annotation that turns judgements off.
	unstructured.RemoveNestedField(applied, "metadata", "annotations", Ignore)
	verdict := Judge(Write{
		Type: s.Type, Live: WithLastApplied(applied, text), New: s.Object,
		Writer: Writer{Act: Imperative, Exact: true},
	}, nil)
	return verdict.Findings
}

// canonical returns a last-applied configuration in the form in which the server stores
// objects.
func (s Subject) canonical(text string) (map[string]any, error) {
	if s.Type.Canonical != nil {
		values, _, err := s.Type.Canonical([]byte(text))
		return values, err
	}
	var values map[string]any
	err := utiljson.Unmarshal([]byte(text), &values)
	return values, err
}

func (s Subject) newReport(path Path, live any, owner string, set Source) FieldReport {
	f := FieldReport{Path: path, Field: path.String(), Value: s.visible(path, live), Owner: owner}
	if set.Name != "" {
		f.SetBy = &set.Name
	}
	if !set.Time.IsZero() {
		at := set.Time.UTC()
		f.At = &at
	}
	return f
}

// visible returns the value of a field, or Redacted for a value that must not be shown. Of a
// Secret these are its data, and its annotations, in which tools keep copies of the data.
func (s Subject) visible(path Path, live any) any {
	if !s.Type.Redacted {
		return live
	}
	steps := path.Steps()
	switch name := steps[0].Name; {
	case name == "data" || name == "stringData",
		name == "metadata" && (len(steps) == 1 || steps[1].Name == "annotations"):
		return Redacted
	}
	return live
}

// clientSideApply is the name of client-side apply as an owner.
const clientSideApply = "kubectl apply"

// owner returns the owners of a field, "" if there is none. Owners are kubectl apply and
// the managers of server-side apply, which would set the field again. An empty map counts as
// not owned: its owner owns none of the keys that other clients add.
func (f *Field) owner() string {
	if object, isObject := f.Value.(map[string]any); isObject && len(object) == 0 {
		return ""
	}
	var names []string
	if f.Applied {
		names = append(names, clientSideApply)
	}
	for _, manager := range f.Managers {
		names = append(names, "server-side apply ("+manager+")")
	}
	return strings.Join(names, ", ")
}

// present returns a value, nil if it is absent.
func present(v any) any {
	if _, isAbsent := v.(value.Absent); isAbsent {
		return nil
	}
	return v
}
