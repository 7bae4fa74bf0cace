package fieldownership

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/native/views"
	"holdfast.dev/holdfast/ownership"
)

// Mode says how the server answers writes to fields that apply owns.
type Mode string

const (
	// EnforceEdit refuses edits and warns about other writes.
	EnforceEdit Mode = "enforce-edit"
	// Warn warns and refuses nothing.
	Warn Mode = "warn"
	// Off neither warns nor refuses.
	Off Mode = "off"
)

// ParseMode parses a mode; the empty text is EnforceEdit.
func ParseMode(text string) (Mode, error) {
	switch mode := Mode(text); mode {
	case "":
		return EnforceEdit, nil
	case EnforceEdit, Warn, Off:
		return mode, nil
	}
	return "", fmt.Errorf("ownership %q: must be %s, %s or %s", text, EnforceEdit, Warn, Off)
}

// cacheBytes bounds the cache of decoded last-applied configurations, by the length of
// their texts.
const cacheBytes = 4 << 20

// Checker judges the writes to one server: it compares the fields that a write changes with
// the owners of these fields.
type Checker struct {
	mode   Mode
	types  *views.Types
	cache  *ownership.Cache
	memory *Memory
	notes  *notes
	// findings counts the warnings.
	findings findings
	// definitions is the type of CustomResourceDefinitions.
	definitions *ownership.Type
}

// New returns a checker; for Off it returns nil.
func New(mode Mode, memory *Memory) *Checker {
	if mode == Off {
		return nil
	}
	return &Checker{
		mode: mode, types: views.New(), cache: ownership.NewCache(cacheBytes), memory: memory, notes: newNotes(), findings: newFindings(),
		definitions: &ownership.Type{
			Applied: ownership.Untyped(), Managed: ownership.Untyped(),
			Canonical: CanonicalDefinition, Default: DefaultDefinition,
		},
	}
}

// Type returns the type of a built-in kind.
func (c *Checker) Type(kind schema.GroupKind) *ownership.Type {
	if c == nil {
		return nil
	}
	return c.types.Of(kind)
}
