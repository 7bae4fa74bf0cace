package ownership

import (
	"fmt"
	"strings"
)

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
		field := strings.TrimPrefix(f.Path.String(), ".")
		if i == maxRefusals {
			return append(out, Refusal{Field: field, Message: moreFields(len(v.Findings) - i)})
		}
		out = append(out, Refusal{Field: field, Message: v.refusal(f)})
	}
	return out
}

func (v *Verdict) refusal(f *Finding) string {
	is, instead := v.shown(f), "change it in the file and apply that"
	if series := seriesOf(f.Manager); series != "" {
		instead = "change it with " + rollOf(series) + " or rollback"
	} else if f.Manager != "" {
		instead = "let " + name(f.Manager) + " apply the change"
	}
	return fmt.Sprintf("managed by %s (last set the field to %s), and the edit changes it from %s to %s: "+
		"%s, or force the edit with `holdfast edit --force` or `kubectl edit --field-manager=%s`",
		f.owner(), is.applied, is.live, is.updated, instead, ForceManager)
}
