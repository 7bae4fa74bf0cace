package fieldownership

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"

	"holdfast.dev/holdfast/ownership"
)

// Prepare makes the last-applied configuration of a replaced object follow the
// replacement, so that the next apply starts from the object as it is.
func (c *Checker) Prepare(ctx context.Context, u Update) {
	r := requestFrom(ctx)
	if c == nil || r == nil || r.body == nil || u.Type == nil {
		return
	}
	r.recordReplacement(r.replaceLastApplied(u))
}

// replaceLastApplied changes the annotation of the new object.
func (r *request) replaceLastApplied(u Update) replacement {
	live, errLive := meta.Accessor(u.Live)
	updated, err := meta.Accessor(u.New)
	if errLive != nil || err != nil {
		return notReplaced
	}
	applied := live.GetAnnotations()[ownership.LastApplied]
	if applied == "" || live.GetAnnotations()[ownership.Ignore] == ownership.Ignored {
		return notReplaced
	}
	write, err := newWrite(u, r.writer)
	if err != nil {
		return notReplaced
	}
	if ownership.EqualJudged(u.Type, write.Live, write.New) {
		updated.SetAnnotations(withAnnotation(updated.GetAnnotations(), applied))
		return notReplaced
	}
	text, err := ownership.Replacement(r.body)
	if err != nil {
		return notReplaced
	}
	annotations := withAnnotation(updated.GetAnnotations(), text)
	if apivalidation.ValidateAnnotationsSize(annotations) != nil {
		// The annotation would be too large; the object itself is not.
		return tooLarge
	}
	updated.SetAnnotations(annotations)
	return replaced
}
