package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/warning"

	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/change"
	"holdfast.dev/holdfast/internal/finding"
)

const (
	// maxNames is how many objects a cause names.
	maxNames = 3
	// maxWarnings is how many changes a response warns about.
	maxWarnings = 10
)

// LossAnnotation is the audit annotation of a write of a definition that loses something. Its value has the places in the definition.
const LossAnnotation = "definitions.holdfast.dev/loss"

// report is what is known about a change of a definition.
type report struct {
	old, crd *definition.CustomResourceDefinition
	// isNew is set for a new definition. No client relies on an earlier one, so only stored objects count.
	isNew   bool
	changes []change.Change
	// kind is nil if objects do not matter, or only their version does.
	kind *change.Kind
	// reads reports whether stored objects matter.
	reads bool
	// found has the objects that each change hits. Two entries more are for objects that lose fields, and that would be refused, for
	// another reason.
	found []hits
	// objects is how many were read, and revision the one up to which all of them are known.
	objects  int
	revision int64
	// late is set if the objects could not be read in time.
	late time.Duration
}

// hits are the objects that a change hits.
type hits struct {
	count int
	names []string
	// path is the field that an object loses, or for which it would be refused.
	path string
}

func newReport(old, crd *definition.CustomResourceDefinition, changes []change.Change, kind *change.Kind) *report {
	r := &report{old: old, crd: crd, changes: changes, kind: kind, found: make([]hits, len(changes)+2)}
	for _, c := range changes {
		r.reads = r.reads || c.NeedsObjects()
	}
	return r
}

// isAbout reports whether the report is about this change.
func (r *report) isAbout(old, crd *definition.CustomResourceDefinition) bool {
	return r != nil && r.old.UID == old.UID && definition.SameForObjects(r.old, old) && definition.SameForObjects(r.crd, crd)
}

// read reads the objects that were written since the last call. It counts an object again that was written in between: what the policy
// refuses was not found in the first call, so the numbers are only for warnings.
func (r *report) read(ctx context.Context, g *Gate, timeout time.Duration) error {
	if !r.reads {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	revision, err := g.Objects.Scan(bounded, resourceOf(r.old), r.revision, func(stored storage.Stored) error {
		if err := bounded.Err(); err != nil {
			return err
		}
		return r.add(bounded, stored)
	})
	switch {
	case err == nil:
		r.revision = revision
		return nil
	case errors.Is(bounded.Err(), context.DeadlineExceeded):
		r.late = timeout
		return nil
	}
	return unreadable(r.crd, err)
}

// add counts an object for the changes that hit it.
func (r *report) add(ctx context.Context, stored storage.Stored) error {
	var object map[string]any
	if err := utiljson.Unmarshal(stored.Text, &object); err != nil {
		return fmt.Errorf("decode %s: %w", nameOf(stored), err)
	}
	name := nameOf(stored)
	r.objects++
	examined := change.ExamineVersion(object)
	if r.kind != nil {
		examined = r.kind.Examine(ctx, object)
	}
	worst := change.Neutral
	for i, c := range r.changes {
		if examined.IsHit(c) {
			worst = max(worst, c.Effect(1))
			r.found[i].add(name)
		}
	}
	other := r.found[len(r.changes):]
	if len(examined.Lost) > 0 && worst < change.Loss {
		other[0].add(name)
		other[0].path = examined.Lost[0]
	}
	if len(examined.Refused) > 0 && worst < change.Break {
		other[1].add(name)
		other[1].path = examined.Refused[0]
	}
	return nil
}

func (h *hits) add(name string) {
	h.count++
	if len(h.names) < maxNames && !slices.Contains(h.names, name) {
		h.names = append(h.names, name)
	}
}

func nameOf(stored storage.Stored) string {
	if stored.Namespace == "" {
		return stored.Name
	}
	return stored.Namespace + "/" + stored.Name
}

// effect returns the effect of a change.
func (r *report) effect(i int) change.Effect {
	hits := r.found[i].count
	switch {
	case hits == 0 && (r.isNew || i >= len(r.changes)):
		return change.Neutral
	case i == len(r.changes):
		return change.Loss
	case i > len(r.changes):
		return change.Break
	}
	return r.changes[i].Effect(hits)
}

// text returns a change for a message.
func (r *report) text(i int, names bool) (path, message string) {
	switch i {
	case len(r.changes):
		path, message = "spec.versions", "stored objects lose "+r.found[i].path
	case len(r.changes) + 1:
		path, message = "spec.versions", "the server refuses stored objects when they are written again, for "+r.found[i].path
	default:
		c := r.changes[i]
		path, message = c.Path, c.Message
		if c.Reason != "" {
			message += ": " + c.Reason
		}
	}
	if count := r.found[i].count; count > 0 {
		message += fmt.Sprintf(" (%s", finding.Quantity(count, "stored object"))
		if names {
			message += ": " + strings.Join(r.found[i].names, ", ")
		}
		message += ")"
	}
	return path, message
}

// refuse returns the answer to a change with an effect that is refused, or a stronger one. It is nil if there is none.
func (r *report) refuse(names bool, refused change.Effect, policy definition.GatePolicy) error {
	var causes []metav1.StatusCause
	var messages []string
	for i := range r.found {
		if effect := r.effect(i); effect >= refused {
			path, message := r.text(i, names)
			causes = append(causes, metav1.StatusCause{Type: cause(effect), Field: path, Message: message})
			messages = append(messages, path+": "+message)
		}
	}
	advice := fmt.Sprintf("the policy %s of the definition refuses this: to write it anyway, first set the annotation %s to %s, with the right to %s",
		policy, definition.GateAnnotation, definition.Warn, Verb)
	if len(causes) > 0 {
		// kubectl shows the causes, and not the message.
		causes[len(causes)-1].Message += "; " + advice
		kind := schema.GroupKind{Group: definition.Kind.Group, Kind: definition.Kind.Kind}
		err := apierrors.NewInvalid(kind, r.crd.Name, nil)
		err.ErrStatus.Details.Causes = causes
		err.ErrStatus.Message = fmt.Sprintf("%s %q is invalid: %s; %s", kind, r.crd.Name, strings.Join(messages, "; "), advice)
		return err
	}
	if r.late > 0 {
		err := apierrors.NewTimeoutError(fmt.Sprintf("%s; %s", r.lateText(), advice), 1)
		details := err.ErrStatus.Details
		details.Group, details.Kind, details.Name = definition.Resource.Group, definition.Resource.Resource, r.crd.Name
		return err
	}
	return nil
}

// lateText says that objects could not be read in time.
func (r *report) lateText() string {
	return fmt.Sprintf("%s: the stored objects could not all be read within %v: %s read so far",
		r.crd.Name, r.late, finding.Quantity(r.objects, "object"))
}

// cause returns the reason of a cause.
func cause(effect change.Effect) metav1.CauseType {
	if effect == change.Loss {
		return "DefinitionLoss"
	}
	return "DefinitionBreak"
}

// Announce adds the warnings about a definition that is stored, and counts a loss.
func (r *Review) Announce(ctx context.Context) {
	if r.report == nil {
		return
	}
	names := mayList(ctx, r.report.crd)
	warned := change.Break
	if r.policy == definition.RefuseBreaking {
		warned = change.Neutral
	}
	var losses []string
	count := 0
	for i := range r.report.found {
		effect := r.report.effect(i)
		path, message := r.report.text(i, names)
		if effect == change.Loss {
			losses = append(losses, path)
		}
		if !r.report.isWarned(i, warned) {
			continue
		}
		if count++; count <= maxWarnings {
			warning.AddWarning(ctx, "", path+": "+message)
		}
	}
	if count > maxWarnings {
		warning.AddWarning(ctx, "", fmt.Sprintf("%s: %s more, see holdfast schema diff", r.report.crd.Name, finding.Quantity(count-maxWarnings, "change")))
	}
	if r.report.late > 0 {
		warning.AddWarning(ctx, "", r.report.lateText())
	}
	if len(losses) == 0 {
		return
	}
	audit.AddAuditAnnotation(ctx, LossAnnotation, strings.Join(losses, ", "))
	if !r.dryRun {
		r.gate.losses.Inc()
	}
}

// isWarned reports whether a response warns about a change. Package definition warns about weaker rules itself.
func (r *report) isWarned(i int, least change.Effect) bool {
	if i >= len(r.changes) {
		return r.found[i].count > 0
	}
	c := r.changes[i]
	return r.effect(i) >= least && !c.IsWeakerRule() && (least != change.Neutral || c.Severity >= finding.Warning)
}

// unreadable returns the answer to a write if the server cannot read the stored objects.
func unreadable(crd *definition.CustomResourceDefinition, err error) error {
	return apierrors.NewInternalError(fmt.Errorf("read the stored objects of %s: %w", crd.Name, err))
}

// former returns a definition that keeps everything, if objects of the kind of a new definition are stored. Compared with it, the new
// definition shows what it does to these objects.
func (g *Gate) former(ctx context.Context, crd *definition.CustomResourceDefinition) (*definition.CustomResourceDefinition, error) {
	var stored []string
	_, err := g.Objects.Scan(ctx, resourceOf(crd), 0, func(s storage.Stored) error {
		var object struct {
			APIVersion string `json:"apiVersion"`
		}
		if err := utiljson.Unmarshal(s.Text, &object); err != nil {
			return fmt.Errorf("decode %s: %w", nameOf(s), err)
		}
		gv, err := schema.ParseGroupVersion(object.APIVersion)
		if err == nil && !slices.Contains(stored, gv.Version) {
			stored = append(stored, gv.Version)
		}
		return err
	})
	if err != nil {
		return nil, unreadable(crd, err)
	}
	if len(stored) == 0 {
		return nil, nil
	}
	return change.Anything(crd, stored), nil
}
