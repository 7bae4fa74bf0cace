package plan

import (
	"encoding/json"
	"fmt"

	"holdfast.dev/holdfast/value"
)

// Change is a field that an update changes. Old or New is value.Absent if the object does not
// have the field before or afterwards.
type Change struct {
	Path     string
	Old, New any
	// Hidden is true for values of a Secret, which are not shown.
	Hidden bool
}

// String returns the change as a line with a sign: + for a new field, - for one that is
// removed, ~ for a new value.
func (c Change) String() string {
	text := func(v any) string {
		if c.Hidden {
			return "(hidden)"
		}
		return value.Printer{LiteralHTML: true}.Print(v)
	}
	switch {
	case isAbsent(c.Old):
		return fmt.Sprintf("+ %s: %s", c.Path, text(c.New))
	case isAbsent(c.New):
		return fmt.Sprintf("- %s: %s", c.Path, text(c.Old))
	}
	return fmt.Sprintf("~ %s: %s -> %s", c.Path, text(c.Old), text(c.New))
}

// MarshalJSON leaves out a value that is absent or hidden.
func (c Change) MarshalJSON() ([]byte, error) {
	fields := map[string]any{"path": c.Path}
	if c.Hidden {
		fields["hidden"] = true
	}
	for name, v := range map[string]any{"old": c.Old, "new": c.New} {
		if !isAbsent(v) && !c.Hidden {
			fields[name] = v
		}
	}
	return json.Marshal(fields)
}

func isAbsent(v any) bool {
	_, absent := v.(value.Absent)
	return absent
}
