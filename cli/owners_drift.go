package cli

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/ownership"
	"holdfast.dev/holdfast/value"
)

// driftReport returns the fields of client-side apply whose live value is not the one that
// was applied last.
func (o owned) driftReport() ownersReport {
	report := ownersReport{Object: o.info.ObjectName(), Fields: []ownersField{}}
	if o.GetAnnotations()[ownership.LastApplied] == "" {
		report.empty = "no last-applied configuration: the object is not managed with kubectl apply"
		return report
	}
	report.empty = "no field differs from the last-applied configuration"
	_, report.Note = o.fields()
	for _, f := range o.drift() {
		set := ownership.LastSet(o.kind, o.GetManagedFields(), o.commands, f.Path)
		field := o.newField(f.Path, present(f.New), "kubectl apply", set)
		applied := o.shown(f.Path, present(f.Applied))
		field.Applied = &applied
		report.Fields = append(report.Fields, field)
	}
	return report
}

// drift compares the live object with its last-applied configuration. It judges a write that
// would change the configuration into the live object: the findings are the fields of the
// configuration that such a write changes.
func (o owned) drift() []ownership.Finding {
	text := o.GetAnnotations()[ownership.LastApplied]
	applied, err := o.canonical(text)
	if err != nil {
		// The note of the report says that the configuration is malformed.
		return nil
	}
	// The configuration may contain the annotation that turns judgements off.
	unstructured.RemoveNestedField(applied, "metadata", "annotations", ownership.Ignore)
	verdict := ownership.Judge(ownership.Write{
		Type: o.kind, Live: ownership.WithLastApplied(applied, text), New: o.Object,
		Writer: ownership.Writer{Act: ownership.Imperative, Exact: true},
	}, nil)
	return verdict.Findings
}

// canonical returns a last-applied configuration in the form in which the server stores
// objects.
func (o owned) canonical(text string) (map[string]any, error) {
	if o.kind.Canonical != nil {
		values, _, err := o.kind.Canonical([]byte(text))
		return values, err
	}
	var values map[string]any
	err := utiljson.Unmarshal([]byte(text), &values)
	return values, err
}

// present returns a value, nil if it is absent.
func present(v any) any {
	if _, isAbsent := v.(value.Absent); isAbsent {
		return nil
	}
	return v
}
