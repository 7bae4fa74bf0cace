package ownership

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"holdfast.dev/holdfast/value"
)

// Kind says what a write does to a field of another owner.
type Kind int

const (
	// Overwrites means that an imperative write changes a field that apply owns.
	Overwrites Kind = iota
	// Reverts means that an apply changes a field that another client changed since
	// the last apply.
	Reverts
	// ChangesForeign means that an apply changes a field that another client set and
	// apply never did.
	ChangesForeign
	// TakesOver means that an apply becomes the owner of a list item that another
	// client created.
	TakesOver
)

// Finding is one field of another owner that a write changes. If a value changes as
// a whole, the finding is about the topmost field.
type Finding struct {
	Kind Kind
	Path Path
	// Live and New are the values before and after the write, Applied is the value
	// applied last. Verdict.Show prints them.
	Live, New, Applied any
	// Manager is the manager that owns the field by server-side apply, "" for
	// client-side apply.
	Manager string
	// LastSet is the source of the live value. Its name is empty if it is not known.
	LastSet Source
}

// Show returns the text of a value of a finding.
func (v *Verdict) Show(shown any) string {
	if v.hidden || v.redacted && !isAbsent(shown) {
		return "<redacted>"
	}
	return printer().Print(shown)
}

// text returns the warning about a finding.
func (v *Verdict) text(f *Finding) string {
	field, x, y := f.Path.String(), v.Show(f.Live), v.Show(f.New)
	switch f.Kind {
	case Reverts:
		return fmt.Sprintf("`kubectl apply` is changing the resource %s field %s value from %s to %s.  "+
			"This field's value does not match the last value set by `apply` (%s), and another source may have updated this field.%s",
			v.Resource, field, x, y, v.Show(f.Applied), f.lastSet())
	case ChangesForeign:
		return fmt.Sprintf("WARNING: `kubectl apply` is changing the resource %s field %s value from %s to %s.  %s%s",
			v.Resource, field, x, y, foreign, f.lastSet())
	case TakesOver:
		return fmt.Sprintf("WARNING: `kubectl apply` takes over %s field %s.  %s%s", v.Resource, field, foreign, f.lastSet())
	}
	return fmt.Sprintf("`%s` changed the resource %s field %s value from %s to %s.  "+
		"This field is managed by %s (last set the field to %s), and may be overwritten or cleared the next time `kubectl apply` is run.  "+
		"To undo: `kubectl apply` the file again, or set the field back to %s.",
		v.Writer.Command, v.Resource, field, x, y, f.owner(), v.Show(f.Applied), x)
}

const foreign = "This field's value does not appear in the last configuration applied, was previously set by another source.  " +
	"This field may have been set by a controller outside of apply."

func (f *Finding) owner() string {
	if f.Manager == "" {
		return "`kubectl apply`"
	}
	return "server-side apply (" + name(f.Manager) + ")"
}

func (f *Finding) lastSet() string {
	if f.LastSet.Name == "" {
		return ""
	}
	at := ""
	if !f.LastSet.Time.IsZero() {
		at = " at " + f.LastSet.Time.UTC().Format(time.RFC3339)
	}
	return "  Last set by " + name(f.LastSet.Name) + at + "."
}

// maxWarnings is how many runes all warnings of a write have together. If there are
// more than 4,096, the API server cuts each warning at 256.
const maxWarnings = 4000

// Warnings returns the warnings about a write that was stored, in a fixed order.
func (v *Verdict) Warnings() []string {
	var lines []string
	if v.Note != "" {
		lines = append(lines, "ownership not checked: "+printable(v.Note))
	}
	if v.Replaced {
		return append(lines, v.Resource+" is managed with kubectl apply; its last-applied configuration was set to the replacement.")
	}
	written := 0
	for _, line := range lines {
		written += utf8.RuneCountInString(line)
	}
	for i := range v.Findings {
		line := v.text(&v.Findings[i])
		more := fmt.Sprintf("and %d more fields", len(v.Findings)-i)
		size := utf8.RuneCountInString(line)
		if written+size+len(more) > maxWarnings {
			return append(lines, more)
		}
		lines, written = append(lines, line), written+size
	}
	return lines
}

// Refusal is one field for which an edit is refused.
type Refusal struct {
	// Field is the path without its leading dot, as in a StatusCause.
	Field   string
	Message string
}

// maxRefusals is how many fields a refusal names.
const maxRefusals = 50

// Refusals returns the fields for which an edit must be refused. It is empty if the
// write is no edit, is forced, or changes no field that apply owns.
func (v *Verdict) Refusals() []Refusal {
	if v.Writer.Act != Edit || v.Writer.Force {
		return nil
	}
	var out []Refusal
	for i := range v.Findings {
		f := &v.Findings[i]
		message := fmt.Sprintf("managed by %s (last set the field to %s), and the edit changes it from %s to %s: "+
			"change it in the file and apply that, or force the edit with `holdfast edit --force` or `kubectl edit --field-manager=%s`",
			f.owner(), v.Show(f.Applied), v.Show(f.Live), v.Show(f.New), ForceManager)
		if i == maxRefusals {
			message = fmt.Sprintf("and %d more fields", len(v.Findings)-i)
		}
		out = append(out, Refusal{Field: strings.TrimPrefix(f.Path.String(), "."), Message: message})
		if i == maxRefusals {
			break
		}
	}
	return out
}

// maxText is how many runes of a text from a client are repeated in a line.
const maxText = 256

// printable returns a text from a client without control characters, and cut, so that
// it fits into one line of an HTTP header.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	return value.Cut(text, maxText)
}
