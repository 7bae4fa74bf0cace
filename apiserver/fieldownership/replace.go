package fieldownership

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"

	"holdfast.dev/holdfast/ownership"
)

// Prepare lets the last-applied configuration of a replaced object follow the
// replacement, so that the next apply starts from what is there.
func (c *Checker) Prepare(ctx context.Context, u Update) {
	a := attemptOf(ctx)
	if c == nil || a == nil || a.body == nil || u.Type == nil {
		return
	}
	a.replaced, a.tooLarge = false, false
	live, errLive := meta.Accessor(u.Live)
	updated, err := meta.Accessor(u.New)
	if errLive != nil || err != nil {
		return
	}
	applied := live.GetAnnotations()[ownership.LastApplied]
	if applied == "" || live.GetAnnotations()[ownership.Ignore] == ownership.Ignored {
		return
	}
	write, err := newWrite(u, a.writer)
	if err != nil {
		return
	}
	if ownership.SameBesides(u.Type, write.Live, write.New) {
		updated.SetAnnotations(withAnnotation(updated.GetAnnotations(), applied))
		return
	}
	text, err := ownership.Replacement(a.body)
	if err != nil {
		return
	}
	annotations := withAnnotation(updated.GetAnnotations(), text)
	if apivalidation.ValidateAnnotationsSize(annotations) != nil {
		// Too much to be applied; the replacement itself is not.
		a.tooLarge = true
		return
	}
	updated.SetAnnotations(annotations)
	a.replaced = true
}
