package owners

import "holdfast.dev/holdfast/ownership"

// unknown is printed instead of a manager or a time that the object does not tell.
const unknown = "unknown"

// ownersReport is what owners shows of one object.
type ownersReport struct {
	Object string `json:"object"`
	// Note says what is not known, and why.
	Note   string                  `json:"note,omitempty"`
	Fields []ownership.FieldReport `json:"fields"`

	// empty is printed if there are no fields.
	empty string
}

// report returns all fields of an object with their owners.
func (o owned) report() ownersReport {
	fields, note := o.subject().OwnerReport()
	return ownersReport{Object: o.info.ObjectName(), Note: note, Fields: fields, empty: "no field that can have an owner"}
}

// driftReport returns the fields of client-side apply whose live value is not the one that
// was applied last.
func (o owned) driftReport() ownersReport {
	report := ownersReport{Object: o.info.ObjectName(), Fields: []ownership.FieldReport{}}
	if !o.subject().IsApplied() {
		report.empty = "no last-applied configuration: the object is not managed with kubectl apply"
		return report
	}
	report.empty = "no field differs from the last-applied configuration"
	_, report.Note = o.subject().Fields()
	report.Fields = o.subject().DriftReport()
	return report
}
