package guard

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

// Guard judges the writes of one server.
type Guard struct {
	mode   Mode
	types  *views.Types
	cache  *ownership.Cache
	memory *Memory
	// definitions is their type.
	definitions *ownership.Type
}

// New returns a guard, nil for Off.
func New(mode Mode, memory *Memory) *Guard {
	if mode == Off {
		return nil
	}
	return &Guard{
		mode: mode, types: views.New(), cache: ownership.NewCache(cacheBytes), memory: memory,
		definitions: &ownership.Type{Applied: ownership.Loose(), Managed: ownership.Loose(), Canonical: CanonicalDefinition},
	}
}

// Type is the type of a built-in kind.
func (g *Guard) Type(kind schema.GroupKind) *ownership.Type {
	if g == nil {
		return nil
	}
	return g.types.Of(kind)
}
