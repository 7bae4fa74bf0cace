package ownership

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"holdfast.dev/holdfast/value"
)

// Kind says what a write does to a field of somebody else.
type Kind int

const (
	// Overwrites is an imperative write that changes what apply owns.
	Overwrites Kind = iota
	// Reverts is an apply that changes what somebody changed since the last
	// apply.
	Reverts
	// Seizes is an apply that changes what it never set and somebody else did.
	Seizes
	// TakesOver is an apply that comes to own an item of a list that somebody
	// else made.
	TakesOver
)

// Finding is one field of somebody else that a write changes, the topmost one.
type Finding struct {
	Kind Kind
	Path Path
	// Live, New and Applied are the field before and after the write, and as it
	// was applied last; use Show to print them.
	Live, New, Applied any
	// Manager is who applies the field on the server's side; "" is client-side
	// apply.
	Manager string
	// LastSet is who set the live value; its name is empty if that is not known.
	LastSet Source
}

// Show is a value of a finding as people read it.
func (v *Verdict) Show(shown any) string {
	if v.redacted && !isAbsent(shown) {
		return "<redacted>"
	}
	return printer().Print(shown)
}

// text is a finding in the words of the specification.
func (v *Verdict) text(f *Finding) string {
	field, x, y := f.Path.String(), v.Show(f.Live), v.Show(f.New)
	switch f.Kind {
	case Reverts:
		return fmt.Sprintf("`kubectl apply` is changing the resource %s field %s value from %s to %s.  "+
			"This field's value does not match the last value set by `apply` (%s), and another source may have updated this field.%s",
			v.Resource, field, x, y, v.Show(f.Applied), f.lastSet())
	case Seizes:
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

// maxWarnings is how many runes all warnings of a write have together: beyond
// 4,096 the API server cuts each of them at 256.
const maxWarnings = 4000

// Warnings are the lines to say about a write that was stored, in a fixed order.
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

// Refusal is why an edit is refused: one field.
type Refusal struct {
	// Field is the path without its first dot, as causes of a refusal have it.
	Field   string
	Message string
}

// maxRefusals is how many fields a refusal names.
const maxRefusals = 50

// Refusals are why the write is to be refused if it is an edit; none if it is
// forced or touches nothing of apply's.
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

// maxName is how many runes of what others wrote are repeated in a line.
const maxText = 256

// printable is a text of others made fit for one line of a header.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	return value.Cut(text, maxText)
}
