package fieldownership

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/internal/apiserver/disclosure"
	"holdfast.dev/holdfast/internal/native/judgement"
	"holdfast.dev/holdfast/internal/protection"
	"holdfast.dev/holdfast/ownership"
)

// Update is an update of an object, in the terms of its registry.
type Update struct {
	Kind      schema.GroupVersionKind
	Type      *ownership.Type
	Live, New runtime.Object
}

// Check judges an update. It returns the reasons to refuse an edit. The warnings are
// kept, and sent when the write has been stored.
func (c *Checker) Check(ctx context.Context, u Update) field.ErrorList {
	r := requestFrom(ctx)
	if c == nil || r == nil || r.writer.Act == ownership.Controller {
		return nil
	}
	judged, errs := c.check(ctx, r, u)
	r.recordJudgement(judged)
	return errs
}

func (c *Checker) check(ctx context.Context, r *request, u Update) (result, field.ErrorList) {
	if !r.writer.Exact && !isOwned(u, r.writer) {
		return result{}, nil
	}
	if r.writer.IsSilent() && u.Type != nil && !annotated(u.Live) {
		return result{}, nil
	}
	write, err := newWrite(u, r.writer)
	if err != nil {
		return result{verdict: &ownership.Verdict{Resource: resourceOf(u), Note: err.Error()}}, nil
	}
	verdict := c.judge(write, u)
	switch r.replacementOutcome() {
	case replaced:
		verdict.Replaced = true
	case tooLarge:
		verdict.Note = ownership.NoteTooLarge
	}
	judged := result{verdict: &verdict, uid: uidOf(u.Live), changed: r.changedFields(write, &verdict)}
	if verdict.Note != "" && r.replacementOutcome() != tooLarge {
		judged.configuration = appliedTo(u.New)
	}
	if c.mode != judgement.EnforceEdit || r.writer.Act != ownership.Edit || r.writer.Force {
		return judged, nil
	}
	if edited := r.editedObject(); edited != nil {
		// Refusals and warnings are about the fields that the user edited, not about the
		// fields that admission changed after that.
		u.New = edited
		ofEdit := verdict
		if write, err = newWrite(u, r.writer); err == nil {
			ofEdit = c.judge(write, u)
		}
		judged.verdict = &ofEdit
	}
	if judged.verdict.ShowsValues() && !disclosure.Allowed(ctx) {
		judged.verdict.Hide()
	}
	var errs field.ErrorList
	for _, refusal := range judged.verdict.Refusals() {
		errs = append(errs, field.Forbidden(field.NewPath(refusal.Field), refusal.Message))
	}
	if len(errs) > 0 {
		protection.Refuse(ctx, protection.Ownership, protection.FieldsOf(errs, func(*field.Error) bool { return true })...)
	}
	return judged, errs
}

// judge judges a write. For a built-in kind the write may hold only the parts of the
// objects that differ. If a finding needs more, judge fills in the whole objects and judges
// again.
func (c *Checker) judge(write ownership.Write, u Update) ownership.Verdict {
	verdict := judgement.Judge(write, c.cache)
	if _, isCustom := u.Live.(runtime.Unstructured); isCustom || !needsWhole(&verdict) || complete(&write, u) != nil {
		return verdict
	}
	return judgement.Judge(write, c.cache)
}

// changedFields returns the fields to remember if the write is stored. The fields of an
// imperative command are remembered, and those of an apply that overwrites the changes of a
// command.
func (r *request) changedFields(write ownership.Write, verdict *ownership.Verdict) []string {
	if !r.writer.Exact || write.Type == nil || r.dryRun {
		return nil
	}
	isApply := r.writer.Act == ownership.Apply || r.writer.Act == ownership.ServerSideApply
	if isApply && !verdict.NeedsCommands() {
		return nil
	}
	return write.Type.ChangedFields(write.Live, write.New)
}
