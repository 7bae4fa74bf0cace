package managers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/apiserver/cacheaudit"
)

// Audited returns the sets for an audit.
func (s *Sets) Audited() []cacheaudit.Cache { return []cacheaudit.Cache{audited{s}} }

// audited compares each set with what the library decodes.
type audited struct{ sets *Sets }

var _ cacheaudit.Cache = audited{}

// Name implements cacheaudit.Cache.
func (a audited) Name() string { return a.sets.cache.Name() }

// Compare implements cacheaudit.Cache.
func (a audited) Compare(ctx context.Context, pass *cacheaudit.Pass) error {
	for wanted, kept := range a.sets.cache.Entries() {
		// A set belongs to no object. The hash of its text names it.
		pass.Judge(isRight(wanted.text, kept), fmt.Sprintf("%.8x", sha256.Sum256([]byte(wanted.text))))
		if err := pass.Rest(ctx); err != nil {
			return err
		}
	}
	return nil
}

// isRight compares a set with its text. Without a set, the library does the work.
func isRight(text string, kept *fieldpath.Set) bool {
	if kept == nil {
		return true
	}
	decoded := &fieldpath.Set{}
	return decoded.FromJSON(bytes.NewReader([]byte(text))) == nil && decoded.Equals(kept)
}

// Drop implements cacheaudit.Cache.
func (a audited) Drop() { a.sets.cache.Clear() }
