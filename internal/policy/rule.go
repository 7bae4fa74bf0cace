package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/immutability"
)

// rule is a rule of a policy: a line, or an object.
type rule struct {
	// at is the place of the rule in the policy.
	at *field.Path
	// mode is Enforce or Warn.
	mode string
	mark immutability.Mark
	// structured is nil for a line, which text has.
	structured *StructuredRule
	text       string
}

// rules returns the rules that can be read, and an error for each one that cannot.
func (p *ImmutabilityPolicy) rules() ([]rule, field.ErrorList) {
	var all []rule
	var errs field.ErrorList
	for i, line := range p.Spec.Rules {
		r := rule{at: field.NewPath("spec", "rules").Index(i), mode: p.Spec.Mode, text: line}
		text := strings.TrimSpace(line)
		if first, rest, _ := strings.Cut(text, " "); first == Enforce || first == Warn {
			r.mode, text = first, strings.TrimSpace(rest)
		}
		var err error
		if r.mark, err = immutability.ParseMark(text); err != nil {
			errs = append(errs, field.Invalid(r.at, line, err.Error()))
			continue
		}
		all = append(all, r)
	}
	for i, structured := range p.Spec.StructuredRules {
		r := rule{at: field.NewPath("spec", "structuredRules").Index(i), mode: cmp.Or(structured.Mode, p.Spec.Mode), structured: &structured}
		var wrong field.ErrorList
		if r.mark, wrong = structured.mark(r.at); len(wrong) > 0 {
			errs = append(errs, wrong...)
			continue
		}
		all = append(all, r)
	}
	for i := range all {
		all[i].mode = cmp.Or(all[i].mode, Enforce)
	}
	return all, errs
}

// marks returns the rules of the policy with a mode. The errors name the rules of any mode that cannot be read.
func (p *ImmutabilityPolicy) marks(mode string) ([]immutability.Mark, field.ErrorList) {
	all, errs := p.rules()
	var marks []immutability.Mark
	for _, r := range all {
		if r.mode == mode {
			marks = append(marks, r.mark)
		}
	}
	return marks, errs
}

// Verbs returns the verbs that let users break a rule of the policy, sorted.
func (p *ImmutabilityPolicy) Verbs() []string {
	var verbs []string
	all, _ := p.rules()
	for _, r := range all {
		if r.mark.Unless != "" {
			verbs = append(verbs, r.mark.Unless)
		}
	}
	slices.Sort(verbs)
	return slices.Compact(verbs)
}

// wrongCondition returns an error about the condition of the rule.
func (r rule) wrongCondition(detail string) *field.Error {
	if r.structured != nil {
		return field.Invalid(r.at.Child("while"), r.structured.While, detail)
	}
	return field.Invalid(r.at, r.text, detail)
}

// StructuredRule is a rule as an object.
type StructuredRule struct {
	// Constraint is the first word of a rule: immutable, no-delete.
	Constraint string `json:"constraint"`
	// Path is the field. A rule no-delete has none.
	Path string `json:"path,omitempty"`
	// Unless is the verb that lets a user break the rule, While the condition in CEL under which the rule holds.
	Unless string `json:"unless,omitempty"`
	While  string `json:"while,omitempty"`
	// Mode is Enforce or Warn, empty for the mode of the policy.
	Mode string `json:"mode,omitempty"`
	// Versions are the versions that have the rule, nil for all versions with the field.
	Versions []string `json:"versions,omitempty"`
}

// mark returns the rule, or what is wrong with its fields. The parts of a line are read one by one, so that no field can contain
// another part of the line.
func (r StructuredRule) mark(at *field.Path) (immutability.Mark, field.ErrorList) {
	var errs field.ErrorList
	for i, version := range r.Versions {
		if version == "" || strings.ContainsAny(version, " \t\r\n,:") {
			errs = append(errs, field.Invalid(at.Child("versions").Index(i), version, "must be the name of a version"))
		}
	}
	out := immutability.Mark{Versions: r.Versions, Unless: r.Unless, While: oneLine(r.While)}
	errs = append(errs, r.target(at, &out)...)
	if r.Unless != "" {
		read, err := immutability.ParseMark("no-delete unless " + r.Unless)
		if err == nil && read.Unless != r.Unless {
			err = fmt.Errorf("must be a verb of lower-case letters")
		}
		if err != nil {
			errs = append(errs, field.Invalid(at.Child("unless"), r.Unless, err.Error()))
		}
	}
	switch {
	case r.While != "" && out.While == "":
		errs = append(errs, field.Invalid(at.Child("while"), r.While, "the expression is empty"))
	case strings.ContainsAny(strings.TrimSpace(r.While), "\r\n") && (strings.Contains(r.While, "//") || hasLongText(r.While)):
		errs = append(errs, field.Invalid(at.Child("while"), r.While, "an expression of several lines can have neither comments nor texts of several lines"))
	}
	return out, errs
}

// target reads the constraint and the path.
func (r StructuredRule) target(at *field.Path, out *immutability.Mark) field.ErrorList {
	if r.Constraint == noDelete {
		if r.Path != "" {
			return field.ErrorList{field.Invalid(at.Child("path"), r.Path, "a rule no-delete is about the object, and has no path")}
		}
		return nil
	}
	if _, err := immutability.ParseWord(r.Constraint); err != nil {
		return field.ErrorList{field.Invalid(at.Child("constraint"), r.Constraint, err.Error())}
	}
	if r.Path == "" {
		return field.ErrorList{field.Required(at.Child("path"), "all constraints but no-delete are about a field")}
	}
	read, err := immutability.ParseMark(r.Constraint + " " + r.Path)
	if err == nil && read.IsConditional() {
		err = fmt.Errorf("must be a path, without unless and while")
	}
	if err != nil {
		return field.ErrorList{field.Invalid(at.Child("path"), r.Path, err.Error())}
	}
	out.Marker, out.Path = read.Marker, read.Path
	return nil
}

// noDelete is the constraint of a rule about the deletion of an object.
const noDelete = "no-delete"

// oneLine returns an expression as one line: a rule in the annotation of a definition is one.
func oneLine(expression string) string {
	return strings.TrimSpace(strings.NewReplacer("\r", " ", "\n", " ").Replace(expression))
}

// hasLongText reports whether an expression has a text that may contain line ends.
func hasLongText(expression string) bool {
	return slices.ContainsFunc([]string{`"""`, "'''"}, func(quotes string) bool { return strings.Contains(expression, quotes) })
}
