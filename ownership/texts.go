package ownership

import (
	"fmt"
	"slices"
	"strings"
)

const foreign = "This field's value does not appear in the last configuration applied, was previously set by another source.  " +
	"This field may have been set by a controller outside of apply."

// Parts of warnings by which IsWarning recognizes them.
const (
	unlikeApplied     = "This field's value does not match the last value set by `apply` ("
	unlikeAppliedMany = "Their values do not match the last values set by `apply`, and another source may have updated these fields."
	clientSideOwner   = "Client-side `kubectl apply`"
	notChecked        = "ownership not checked: "
	wasLost           = " is managed with kubectl apply; the replacement has no last-applied configuration, so the next `kubectl apply` removes no field " +
		"that the file no longer has.  To keep the configuration: `kubectl replace --save-config`, or `holdfast replace`."
	wasReplaced = " is managed with kubectl apply; its last-applied configuration was set to the replacement."
)

// long returns the whole warning about a finding.
func (v *Verdict) long(f *Finding) string {
	field, is, last := f.Path.String(), v.shown(f), ""
	if source := f.source(); source != "" {
		last = "  Last set by " + source + "."
	}
	if series := seriesOf(f.LastSet.Name); series != "" {
		last = "  " + f.setBack(series, is)
	}
	switch f.Kind {
	case Reverts:
		return fmt.Sprintf("%s is changing the resource %s field %s value from %s to %s.  "+
			unlikeApplied+"%s), and another source may have updated this field.%s",
			v.applier(), v.Resource, field, is.live, is.updated, is.applied, last)
	case ChangesForeign:
		why := foreign
		if f.clientSide {
			why = fmt.Sprintf("%s last set this field to %s, and may set it again the next time it is run.", clientSideOwner, is.applied)
		}
		return fmt.Sprintf("WARNING: %s is changing the resource %s field %s value from %s to %s.  %s%s",
			v.applier(), v.Resource, field, is.live, is.updated, why, last)
	case TakesOver:
		return fmt.Sprintf("WARNING: %s takes over %s field %s.  %s%s", v.applier(), v.Resource, field, foreign, last)
	}
	changed := fmt.Sprintf("`%s` changed the resource %s field %s value from %s to %s.  This field is managed by %s (last set the field to %s)",
		v.Writer.Command, v.Resource, field, is.live, is.updated, f.owner(), is.applied)
	if f.Manager != "" {
		return changed + ".  " + nextApply(f)
	}
	line := changed + ", and may be overwritten or cleared the next time `kubectl apply` is run.  " +
		"To undo: `kubectl apply` the file again, or " + f.undo(is) + "."
	if command := v.transfer(f); command != "" {
		line += "  To keep it: " + command + "."
	}
	return line
}

// nextApply says what the next apply of a manager does after another client has changed its fields. The client owns a field that it has set,
// but not one that it has removed.
func nextApply(changed ...*Finding) string {
	manager := name(changed[0].Manager)
	if series := seriesOf(changed[0].Manager); series != "" {
		return rollOf(series) + " (or rollback) set it, and is the way to change it."
	}
	if slices.ContainsFunc(changed, func(f *Finding) bool { return !isAbsent(f.New) }) {
		return "The next apply of " + manager + " is refused with a conflict unless it forces."
	}
	if len(changed) == 1 {
		return manager + " sets it again when it applies."
	}
	return manager + " sets them again when it applies."
}

// applier returns the client that applies, in messages. A client that applies on the
// server without kubectl, such as Helm, has its own name.
func (v *Verdict) applier() string {
	if v.Writer.Act == ServerSideApply && !v.Writer.Exact {
		return "server-side apply (" + name(v.Writer.Manager) + ")"
	}
	return "`kubectl apply`"
}

// undo says how to undo a change without the file.
func (f *Finding) undo(is shown) string {
	back := is.live
	if f.Drifted || isAbsent(f.Live) {
		back = is.applied
	}
	switch {
	case back == none:
		return "remove the field"
	case back == concealed || strings.Contains(back, "…"):
		return "set the field back to the value in the file" // the text of a value that was cut is no value
	}
	return "set the field back to " + back
}

const (
	// none is the text of an absent value.
	none = "<none>"
	// concealed is the text of a value that is not shown.
	concealed = "<redacted>"
)

// transfer returns the command that makes a field free, "" if no command can.
func (v *Verdict) transfer(f *Finding) string {
	field := f.Path.String()
	if f.unit.Path != nil {
		field = f.unit.String()
	}
	if v.fixed || v.target == "" || strings.Contains(field, "…") {
		// The configuration cannot be rewritten, or the name or the path is too long to be written.
		return ""
	}
	return fmt.Sprintf("`holdfast transfer %s --field %s --to imperative`", v.target, quoted(field))
}

// quoted quotes a text for a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// summary returns the warning that explains many findings of one kind.
func (v *Verdict) summary(group []*Finding) string {
	n, f := len(group), group[0]
	switch f.Kind {
	case Reverts:
		return fmt.Sprintf("%s is changing %d fields of the resource %s.  "+unlikeAppliedMany, v.applier(), n, v.Resource) + setBackMany(group)
	case ChangesForeign:
		why := manyForeign
		if f.clientSide {
			why = clientSideOwner + " set these fields, and may set them again the next time it is run."
		}
		return fmt.Sprintf("WARNING: %s is changing %d fields of the resource %s.  %s", v.applier(), n, v.Resource, why) + setBackMany(group)
	case TakesOver:
		return fmt.Sprintf("WARNING: %s takes over %d fields of the resource %s.  %s", v.applier(), n, v.Resource, manyForeign)
	}
	changed := fmt.Sprintf("`%s` changed %d fields of the resource %s.  These fields are managed by %s",
		v.Writer.Command, n, v.Resource, f.owner())
	if f.Manager != "" {
		return changed + ".  " + nextApply(group...)
	}
	return changed + ", and may be overwritten or cleared the next time `kubectl apply` is run.  " +
		"To undo: `kubectl apply` the file again." + v.keepOne(group)
}

// keepOne says how to keep one of many changes.
func (v *Verdict) keepOne(group []*Finding) string {
	for _, f := range group {
		if command := v.transfer(f); command != "" {
			return "  To keep a field, here the first one: " + command + "."
		}
	}
	return ""
}

const manyForeign = "Their values do not appear in the last configuration applied, were previously set by another source.  " +
	"These fields may have been set by a controller outside of apply."

// short returns the warning about one of many findings.
func (v *Verdict) short(f *Finding) string {
	is := v.shown(f)
	line := fmt.Sprintf("%s %s: %s → %s", v.Resource, f.Path, is.live, is.updated)
	var more []string
	if f.Kind == Overwrites && f.Manager == "" || f.Kind == Reverts || f.clientSide {
		more = append(more, "apply: "+is.applied)
	}
	if source := f.source(); source != "" {
		more = append(more, "last set by "+source)
	}
	if len(more) == 0 {
		return line
	}
	return line + " (" + strings.Join(more, "; ") + ")"
}
