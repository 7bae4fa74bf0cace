package definition

import (
	"strings"

	"holdfast.dev/holdfast/internal/definition/escape"
)

// Topic is the subject of a warning.
type Topic uint8

// The topics of warnings.
const (
	// Divergence is a field that served versions mark differently.
	Divergence Topic = iota
	// Escape is a marked field that clients can change in two writes.
	Escape
	// RuleEscape is an Escape of a field that a CEL rule protects.
	RuleEscape
	// ItemEscape is a value of a map, or an item of a list, that clients can remove and
	// add again with another value.
	ItemEscape
	// StatusTrap is a field of the status that clients cannot set later.
	StatusTrap
	// UnknownFormat is a format that the server does not validate.
	UnknownFormat
	// UnprotectedRead is a condition that reads an optional field without has().
	UnprotectedRead
	// UnknownReference is a declared reference at a place that no version has.
	UnknownReference
)

// Warning is a property of a valid definition that its author may not expect.
type Warning struct {
	Topic Topic
	// Path is the place in the definition, as the API version of the write has it.
	Path string
	// Message is the warning without the name of the field.
	Message string
	// Fix says what to change. It may be empty.
	Fix string

	line string // the text of a Warning header
	// way is set until inspect has found the fix, which the server does not send.
	way *escape.Escape
}

// Inspect returns the warnings for the schemas of a definition. It includes warnings of
// three topics that the server does not send to clients. It does not send a RuleEscape,
// because upstream sends no warnings about CEL rules either. It does not send an
// ItemEscape, because the author of a map or list without a marker usually wants clients
// to add and remove keys or items. It does not send an UnprotectedRead: the rule holds if the
// field is absent, which may be intended.
func (w Write) Inspect(crd *CustomResourceDefinition) []Warning {
	return w.inspect(crd, decodeVersions(crd))
}

func (w Write) inspect(crd *CustomResourceDefinition, versions []readVersion) []Warning {
	found := schemaWarnings(crd, versions)
	for i := range found {
		if way := found[i].way; way != nil {
			found[i].Fix, found[i].way = way.Remedy(), nil
		}
	}
	if w.APIVersion != V1beta1 {
		return found
	}
	translate := v1beta1Paths(crd)
	var out []Warning
	seen := map[Warning]bool{}
	for _, warning := range found {
		warning.Path = translate(warning.Path)
		// Several versions may have one schema in common there.
		if !seen[warning] {
			seen[warning] = true
			out = append(out, warning)
		}
	}
	return out
}

// sent returns the lines of the warnings that the server sends to clients.
func sent(warnings []Warning) []string {
	var lines []string
	for _, w := range warnings {
		if w.Topic != RuleEscape && w.Topic != ItemEscape && w.Topic != UnprotectedRead {
			lines = append(lines, w.line)
		}
	}
	return lines
}

// withoutField removes the name of the field from the beginning of a warning.
func withoutField(line, field string) string {
	if _, rest, ok := strings.Cut(line, field+": "); ok {
		return rest
	}
	return line
}
