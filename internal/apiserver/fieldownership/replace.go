package fieldownership

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"

	"holdfast.dev/holdfast/ownership"
)

// Prepare handles kubectl replace of an object that was applied. It sets the last-applied
// configuration to the body of the request, so that the next kubectl apply compares its
// file with the replaced object. It also keeps the rules of an aggregated ClusterRole that is applied.
func (c *Checker) Prepare(ctx context.Context, u Update) {
	r := requestFrom(ctx)
	if c == nil || r == nil {
		return
	}
	r.keepAggregated(u)
	if r.body == nil || u.Type == nil {
		return
	}
	r.recordReplacement(r.replaceLastApplied(u))
}

// replaceLastApplied sets the last-applied annotation of the new object. If the replacement
// changes no judged field, it keeps the stored annotation.
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
		// The annotation would be too large. The write itself is valid.
		return tooLarge
	}
	updated.SetAnnotations(annotations)
	return replaced
}
