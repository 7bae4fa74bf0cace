package fieldset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"

	"holdfast.dev/holdfast/internal/apiserver/cacheaudit"
	"holdfast.dev/holdfast/internal/apiserver/custom/text"
)

// Audited returns the sets for an audit, none in the plain form.
func (s *Sets) Audited() []cacheaudit.Cache {
	if s == nil {
		return nil
	}
	return []cacheaudit.Cache{audited{s}}
}

// audited compares each set and both copies of its text with what the library decodes and encodes.
type audited struct{ sets *Sets }

var _ cacheaudit.Cache = audited{}

// Name implements cacheaudit.Cache.
func (a audited) Name() string { return a.sets.byText.Name() }

// Compare implements cacheaudit.Cache.
func (a audited) Compare(ctx context.Context, pass *cacheaudit.Pass) error {
	for _, kept := range a.sets.byText.Entries() {
		// A set belongs to no object. The hash of its text names it.
		pass.Judge(a.isRight(kept), fmt.Sprintf("%.8x", sha256.Sum256(kept.text)))
		if err := pass.Rest(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (a audited) isRight(kept set) bool {
	decoded, err := text.Library{}.Decode(kept.text)
	if err != nil || !text.Same(decoded, kept.fields) {
		return false
	}
	encoded, err := text.Library{}.Append(nil, kept.fields)
	if err != nil || !bytes.Equal(encoded, kept.text) {
		return false
	}
	// The set may have left the cache meanwhile.
	known := a.sets.TextOf(kept.fields)
	return known == nil || bytes.Equal(known, kept.text)
}

// Drop implements cacheaudit.Cache.
func (a audited) Drop() {
	a.sets.byText.Clear()
	a.sets.mu.Lock()
	defer a.sets.mu.Unlock()
	clear(a.sets.bySet)
}
