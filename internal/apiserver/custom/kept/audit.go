package kept

import (
	"context"

	"holdfast.dev/holdfast/internal/apiserver/cacheaudit"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/custom/text"
)

// Audited returns the trees for an audit, none in the plain form.
func (t *Trees) Audited() []cacheaudit.Cache {
	if t == nil {
		return nil
	}
	return []cacheaudit.Cache{audited{t}}
}

// audited compares each tree with its text, decoded by the library. The text is what a read of etcd is compared with, so a tree is right
// as long as it is the one of its text.
type audited struct{ trees *Trees }

var _ cacheaudit.Cache = audited{}

// Name implements cacheaudit.Cache.
func (a audited) Name() string { return a.trees.cache.Name() }

// Compare implements cacheaudit.Cache.
func (a audited) Compare(ctx context.Context, pass *cacheaudit.Pass) error {
	for key, kept := range a.trees.cache.Entries() {
		named := object.Of(kept.content)
		anew, err := key.version.Anew(kept.text, 0)
		pass.Judge(err == nil && text.Same(anew.Object, kept.content), key.version.KeyOf(named.GetNamespace(), named.GetName()))
		if err := pass.Rest(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Drop implements cacheaudit.Cache.
func (a audited) Drop() { a.trees.cache.Clear() }
