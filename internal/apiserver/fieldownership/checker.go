package fieldownership

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/native/judgement"
	"holdfast.dev/holdfast/internal/native/views"
	"holdfast.dev/holdfast/ownership"
)

// cacheBytes bounds the cache of decoded last-applied configurations, by the length of
// their texts.
const cacheBytes = 4 << 20

// Checker judges the writes to one server: it compares the fields that a write changes with
// the owners of these fields.
type Checker struct {
	mode   judgement.Mode
	types  *views.Types
	cache  *ownership.Cache
	memory *Memory
	notes  *judgement.Notes
	// findings counts the warnings.
	findings findings
	// definitions is the type of CustomResourceDefinitions.
	definitions *ownership.Type
}

// New returns a checker; for judgement.Off it returns nil.
func New(mode judgement.Mode, memory *Memory) *Checker {
	if mode == judgement.Off {
		return nil
	}
	return &Checker{
		mode: mode, types: views.New(), cache: ownership.NewCache(cacheBytes), memory: memory, notes: judgement.NewNotes(),
		findings: newFindings(), definitions: judgement.DefinitionType(),
	}
}

// Type returns the type of a built-in kind.
func (c *Checker) Type(kind schema.GroupKind) *ownership.Type {
	if c == nil {
		return nil
	}
	return c.types.Of(kind)
}

// DefinitionType returns the type of CustomResourceDefinitions.
func (c *Checker) DefinitionType() *ownership.Type {
	if c == nil {
		return nil
	}
	return c.definitions
}
