package lint

import (
	"strings"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/internal/manifest"
	"holdfast.dev/holdfast/schema"
)

// The ids of rules without a topic of package definition.
const (
	syntaxRule         = "syntax"
	duplicateKeyRule   = "duplicate-key"
	unknownFieldRule   = "unknown-field"
	fieldTypeRule      = "field-type"
	definitionRule     = "definition"
	schemaRule         = "schema"
	markerRule         = "marker"
	defaultRule        = "default"
	validationRule     = "cel-rule"
	annotationNameRule = "annotation-name"
	notPortableRule    = "not-portable"
	v1beta1Rule        = "v1beta1"
)

// warningRules has the id and the severity of each warning.
var warningRules = map[definition.Topic]struct {
	id       string
	severity finding.Severity
}{
	definition.Divergence:      {"marker-versions", finding.Warning},
	definition.Escape:          {"escape", finding.Warning},
	definition.RuleEscape:      {"escape-cel", finding.Warning},
	definition.ItemEscape:      {"escape-item", finding.Note},
	definition.StatusTrap:      {"status-trap", finding.Warning},
	definition.UnknownFormat:   {"unknown-format", finding.Warning},
	definition.UnprotectedRead: {"condition-optional", finding.Warning},

	definition.UnknownReference: {"reference-place", finding.Warning},
}

// Rules are all rules. Users name them to ignore one, and some formats list them.
var Rules = []finding.Rule{
	{ID: syntaxRule, Summary: "The file is not YAML or JSON."},
	{ID: duplicateKeyRule, Summary: "An object has a duplicate key; only the last value counts."},
	{ID: unknownFieldRule, Summary: "A key is no field of a definition and no keyword of a schema."},
	{ID: fieldTypeRule, Summary: "A field has a value of the wrong type."},
	{ID: definitionRule, Summary: "The server refuses the definition: names, versions, conversion, columns."},
	{ID: schemaRule, Summary: "The server refuses the schema."},
	{ID: markerRule, Summary: "The server refuses a marker about immutability."},
	{ID: defaultRule, Summary: "The server refuses a default."},
	{ID: validationRule, Summary: "The server refuses a CEL rule."},
	{ID: "marker-versions", Summary: "Served versions mark a field differently."},
	{ID: "escape", Summary: "A marked field can be changed in two writes."},
	{ID: "escape-cel", Summary: "A field that a CEL rule protects can be changed in two writes."},
	{ID: "escape-item", Summary: "A value of a map or an item of a list can be removed and added again."},
	{ID: "status-trap", Summary: "A field of the status cannot be set later."},
	{ID: "unknown-format", Summary: "The server does not validate a format."},
	{ID: "condition-optional", Summary: "A condition reads an optional field, and no has() protects it."},
	{ID: "reference-place", Summary: "A declared reference to a ConfigMap or a Secret is at a place that no version has."},
	{ID: annotationNameRule, Summary: "An annotation has almost the name of the one with rules, and no effect."},
	{ID: notPortableRule, Summary: "Kubernetes refuses the schema; this server accepts it."},
	{ID: v1beta1Rule, Summary: "Kubernetes does not serve the API version of the definition."},
}

// annotationPath is the path of the annotation with rules.
const annotationPath = "metadata.annotations[" + immutability.Annotation + "]"

// refusalRule returns the rule for an error at a path.
func refusalRule(path string) string {
	at := strings.LastIndexByte(path, '.') + 1
	switch last := path[at:]; {
	case path == annotationPath:
		return markerRule
	case !strings.Contains(path, "openAPIV3Schema"):
		return definitionRule
	case last == schema.ImmutableKeyword, last == schema.ImmutableKeysKeyword,
		last == schema.AdditionOnlyKeyword, last == schema.DeletionOnlyKeyword, last == schema.UpdateKeyword:
		return markerRule
	case strings.Contains(path, "."+schema.ValidationsKeyword):
		return validationRule
	case strings.Contains(path, "].default") || strings.Contains(path, ".items.default"):
		return defaultRule
	}
	return schemaRule
}

// Duplicates returns the findings about the duplicate keys of a document.
func Duplicates(d *manifest.Document) []finding.Finding {
	var found []finding.Finding
	for _, duplicate := range d.Duplicates() {
		found = append(found, finding.Finding{
			Rule: duplicateKeyRule, Severity: finding.Error, File: d.File, Position: duplicate.Position,
			Message: "duplicate key " + duplicate.Key + ": kubectl takes the last value",
		})
	}
	return found
}
