package fieldownership

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/native/views"
	"holdfast.dev/holdfast/ownership"
)

// Mode says what becomes of writes that touch what apply owns.
type Mode string

const (
	// EnforceEdit warns, and refuses edits.
	EnforceEdit Mode = "enforce-edit"
	// Warn warns.
	Warn Mode = "warn"
	// Off says nothing.
	Off Mode = "off"
)

// ParseMode reads a mode; empty is EnforceEdit.
func ParseMode(text string) (Mode, error) {
	switch mode := Mode(text); mode {
	case "":
		return EnforceEdit, nil
	case EnforceEdit, Warn, Off:
		return mode, nil
	}
	return "", fmt.Errorf("ownership %q: must be %s, %s or %s", text, EnforceEdit, Warn, Off)
}

// cacheBytes bounds the text of the last-applied configurations that are kept
// decoded.
const cacheBytes = 4 << 20

// Checker judges the writes of one server by who owns the fields that they change.
type Checker struct {
	mode   Mode
	types  *views.Types
	cache  *ownership.Cache
	memory *Memory
	// definitions is their type.
	definitions *ownership.Type
}

// New returns a checker, nil for Off.
func New(mode Mode, memory *Memory) *Checker {
	if mode == Off {
		return nil
	}
	return &Checker{
		mode: mode, types: views.New(), cache: ownership.NewCache(cacheBytes), memory: memory,
		definitions: &ownership.Type{Applied: ownership.Untyped(), Managed: ownership.Untyped(), Canonical: CanonicalDefinition},
	}
}

// Type is the type of a built-in kind.
func (c *Checker) Type(kind schema.GroupKind) *ownership.Type {
	if c == nil {
		return nil
	}
	return c.types.Of(kind)
}
