package fieldownership

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/ownership"
)

// Update is an update of an object, in the terms of its registry.
type Update struct {
	Kind      schema.GroupVersionKind
	Type      *ownership.Type
	Live, New runtime.Object
}

// Check judges an update. What is to be said is said when it has been stored; what
// an edit is refused for is returned.
func (c *Checker) Check(ctx context.Context, u Update) field.ErrorList {
	a := attemptOf(ctx)
	if c == nil || a == nil || a.writer.Act == ownership.Controller {
		return nil
	}
	a.begin()
	if !a.writer.Exact && !isOwned(u, a.writer) {
		return nil
	}
	write, err := newWrite(u, a.writer)
	if err != nil {
		a.verdict = &ownership.Verdict{Note: err.Error()}
		return nil
	}
	verdict := c.judge(write, u)
	if verdict.Replaced = a.replaced; a.tooLarge {
		verdict.Note = ownership.NoteTooLarge
	}
	a.verdict, a.uid = &verdict, uidOf(u.Live)
	a.remember(write, &verdict)
	if c.mode != EnforceEdit || a.writer.Act != ownership.Edit || a.writer.Force {
		return nil
	}
	if a.person != nil {
		edited := u
		edited.New = a.person
		if write, err = newWrite(edited, a.writer); err != nil {
			return nil
		}
		verdict = c.judge(write, edited)
	}
	var errs field.ErrorList
	for _, refusal := range verdict.Refusals() {
		errs = append(errs, field.Forbidden(field.NewPath(refusal.Field), refusal.Message))
	}
	return errs
}

func (c *Checker) judge(write ownership.Write, u Update) ownership.Verdict {
	verdict := Judge(write, c.cache)
	if _, isCustom := u.Live.(*unstructured.Unstructured); isCustom || !showsParts(&verdict) || complete(&write, u) != nil {
		return verdict
	}
	return Judge(write, c.cache)
}

// remember keeps, until the write is stored, what it changes: of imperative
// commands, and of an apply that took something back from one.
func (a *attempt) remember(write ownership.Write, verdict *ownership.Verdict) {
	if !a.writer.Exact || write.Type == nil || a.dryRun {
		return
	}
	isApply := a.writer.Act == ownership.Apply || a.writer.Act == ownership.ServerSideApply
	if isApply && !verdict.NeedsCommands() {
		return
	}
	for _, path := range write.Type.Changed(write.Live, write.New, ownership.MaxFields) {
		a.changed = append(a.changed, path.String())
	}
}
