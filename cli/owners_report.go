package cli

import (
	"time"

	"holdfast.dev/holdfast/ownership"
)

// redacted is printed instead of the values of Secrets.
const redacted = "<redacted>"

// unknown is printed instead of a manager or a time that the object does not tell.
const unknown = "unknown"

// ownersReport is what owners shows of one object.
type ownersReport struct {
	Object string `json:"object"`
	// Note says what is not known, and why.
	Note   string        `json:"note,omitempty"`
	Fields []ownersField `json:"fields"`

	// empty is printed if there are no fields.
	empty string
}

// ownersField is one field of a report.
type ownersField struct {
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

	path ownership.Path
}

// report returns all fields of an object with their owners.
func (o owned) report() ownersReport {
	fields, note := o.fields()
	report := ownersReport{Object: o.info.ObjectName(), Note: note, Fields: []ownersField{}, empty: "no field that can have an owner"}
	for _, f := range fields {
		report.Fields = append(report.Fields, o.newField(f.Path, f.Value, ownerOf(f), f.Set))
	}
	return report
}

func (o owned) newField(path ownership.Path, value any, owner string, set ownership.Source) ownersField {
	f := ownersField{Field: path.String(), Value: o.shown(path, value), Owner: owner, path: path}
	if set.Name != "" {
		f.SetBy = &set.Name
	}
	if !set.Time.IsZero() {
		at := set.Time.UTC()
		f.At = &at
	}
	return f
}

// shown returns the value of a field, or redacted for a value that must not be shown. Of a
// Secret these are its data, and its annotations, in which tools keep copies of the data.
func (o owned) shown(path ownership.Path, value any) any {
	if !o.kind.Redacted {
		return value
	}
	steps := path.Steps()
	switch name := steps[0].Name; {
	case name == "data" || name == "stringData",
		name == "metadata" && (len(steps) == 1 || steps[1].Name == "annotations"):
		return redacted
	}
	return value
}
