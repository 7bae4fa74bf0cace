package change

import "holdfast.dev/holdfast/internal/finding"

// The ids of the rules.
const (
	refusedRule       = "update-refused"
	removedRule       = "definition-removed"
	addedRule         = "definition-added"
	namesRule         = "names"
	versionRule       = "version"
	storageRule       = "storage-version"
	conversionRule    = "conversion"
	subresourceRule   = "subresource"
	selectableRule    = "selectable-field"
	fieldRemovedRule  = "field-removed"
	fieldAddedRule    = "field-added"
	pruningRule       = "pruning"
	typeRule          = "type"
	listTypeRule      = "list-type"
	requiredRule      = "required"
	validationRule    = "validation"
	celRule           = "cel-rule"
	defaultRule       = "default"
	normalizeRule     = "normalize"
	tightenedRule     = "marker-tightened"
	loosenedRule      = "marker-loosened"
	escapeRule        = "escape-opened"
	notComparableRule = "not-comparable"
)

// Rules are all rules of Compare.
var Rules = []finding.Rule{
	{ID: refusedRule, Summary: "The server refuses this update of the definition."},
	{ID: removedRule, Summary: "A definition is gone. The server deletes its objects with it."},
	{ID: addedRule, Summary: "A definition is new."},
	{ID: namesRule, Summary: "Names by which clients find the resource changed."},
	{ID: versionRule, Summary: "A version is gone, new, or no longer served."},
	{ID: storageRule, Summary: "Objects are stored in another version."},
	{ID: conversionRule, Summary: "The conversion between versions changed."},
	{ID: subresourceRule, Summary: "A subresource is gone or new."},
	{ID: selectableRule, Summary: "Clients can no longer select objects by a field."},
	{ID: fieldRemovedRule, Summary: "The schema no longer specifies a field, so objects lose it."},
	{ID: fieldAddedRule, Summary: "The schema specifies a new field."},
	{ID: pruningRule, Summary: "Unknown fields that were kept are dropped, or the other way round."},
	{ID: typeRule, Summary: "A field has another type."},
	{ID: listTypeRule, Summary: "A list or map is merged in another way."},
	{ID: requiredRule, Summary: "A field is required, or no longer required."},
	{ID: validationRule, Summary: "The schema accepts fewer or more values."},
	{ID: celRule, Summary: "CEL rules changed."},
	{ID: defaultRule, Summary: "A default changed."},
	{ID: normalizeRule, Summary: "Empty values of a field are removed, or no longer removed."},
	{ID: tightenedRule, Summary: "A rule forbids updates or deletions that were accepted."},
	{ID: loosenedRule, Summary: "A rule forbids less than before."},
	{ID: escapeRule, Summary: "A marked field can now be changed in two writes."},
	{ID: notComparableRule, Summary: "Parts of a schema, or rules, changed that cannot be compared."},
}
