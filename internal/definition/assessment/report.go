// Package assessment says what a change of a CustomResourceDefinition does to the stored objects, and answers it by the policy of the
// definition. Our server and the guard use it, so their answers have the same words.
//
//	report, err := assessment.Compare(oldCRD, newCRD)
//	report.Add(ctx, "default/anna", object) // for each stored object, if report.Reads
//	err = report.Refuse(policy, mayList)
//
// A Report belongs to one write. It is not safe for concurrent use.
package assessment

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/change"
	"holdfast.dev/holdfast/internal/finding"
)

// Verb is the right to make the policy of a definition weaker.
const Verb = "loosen"

// The types of the causes of a refusal.
const (
	CauseTypeLoss  metav1.CauseType = "DefinitionLoss"
	CauseTypeBreak metav1.CauseType = "DefinitionBreak"
)

const (
	// maxNames is how many objects a cause names.
	maxNames = 3
	// maxNamed is how many changes a response warns about, and how many the message of a refusal and the audit log name. A definition with
	// thousands of properties can have thousands of changes.
	maxNamed = 10
	// maxCauses is how many causes a refusal has.
	maxCauses = 100
)

// Report is what is known about a change of a definition.
type Report struct {
	// Old and CRD are the two states of the definition.
	Old, CRD *definition.CustomResourceDefinition
	// IsNew is set for a new definition. No client relies on an earlier one, so only stored objects count.
	IsNew bool
	// Reads reports whether stored objects matter.
	Reads bool
	// Late is the time in which the objects could not be read, zero if they were.
	Late time.Duration

	changes []change.Change
	// kind is nil if objects do not matter, or only their version does.
	kind *change.Kind
	// found has an entry for each change, with the objects that the change hits. The entry at len(changes) has objects that lose fields by no
	// change that was found, and the one after it objects that would be refused for no such change.
	found []hits
	// objects is how many were read.
	objects quantity
}

// hits are the objects that a change hits.
type hits struct {
	count quantity
	names []string
	// path is the field that an object loses, or for which it would be refused.
	path string
}

// quantity is a number of objects, the largest of all passes.
type quantity struct{ now, most int }

func (q *quantity) add()  { q.now, q.most = q.now+1, max(q.most, q.now+1) }
func (q *quantity) pass() { q.now = 0 }

// Compare begins a report about a change of a definition.
func Compare(old, crd *definition.CustomResourceDefinition) (*Report, error) {
	changes := change.Accepted(old, crd)
	r := Changes(old, crd, changes)
	if !r.Reads {
		return r, nil
	}
	kind, err := change.Compile(old, crd)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	r.kind = &kind
	return r, nil
}

// Changes begins a report about changes for which nothing but the version of an object counts.
func Changes(old, crd *definition.CustomResourceDefinition, changes []change.Change) *Report {
	return &Report{
		Old: old, CRD: crd, changes: changes, found: make([]hits, len(changes)+2), Reads: slices.ContainsFunc(changes, change.Change.NeedsObjects),
	}
}

// CompareStatus begins a report about a write of the status. unstored are the changes of the stored versions. The write cannot change the
// spec, but annotations with rules. CompareStatus returns nil if there is nothing to judge.
func CompareStatus(old, crd *definition.CustomResourceDefinition, unstored []change.Change) *Report {
	changes := unstored
	if !definition.SameForObjects(old, crd) {
		changes = append(changes, change.Accepted(old, crd)...)
	}
	if len(changes) == 0 {
		return nil
	}
	return Changes(old, crd, changes)
}

// Unstored returns the versions that a write of the status takes out of the stored versions.
func Unstored(old, crd *definition.CustomResourceDefinition) []string {
	return slices.DeleteFunc(slices.Clone(old.Status.StoredVersions), func(version string) bool {
		return slices.Contains(crd.Status.StoredVersions, version)
	})
}

// IsAbout reports whether the report is about this change.
func (r *Report) IsAbout(old, crd *definition.CustomResourceDefinition) bool {
	return r != nil && r.Old.UID == old.UID && definition.SameForObjects(r.Old, old) && definition.SameForObjects(r.CRD, crd)
}

// Pass begins to add all objects again, as they are in another version. Each change keeps the largest number of objects.
func (r *Report) Pass() {
	r.objects.pass()
	for i := range r.found {
		r.found[i].count.pass()
	}
}

// Add counts an object for the changes that hit it. The name is that of messages.
func (r *Report) Add(ctx context.Context, name string, object map[string]any) {
	examined := change.ExamineVersion(object)
	if r.kind != nil {
		examined = r.kind.Examine(ctx, object)
	}
	if ctx.Err() != nil {
		return // the object may be refused only because its rules were interrupted
	}
	r.objects.add()
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
}

func (h *hits) add(name string) {
	h.count.add()
	if len(h.names) < maxNames && !slices.Contains(h.names, name) {
		h.names = append(h.names, name)
	}
}

// effect returns the effect of a change.
func (r *Report) effect(i int) change.Effect {
	hits := r.found[i].count.most
	switch {
	case hits == 0 && (r.IsNew || i >= len(r.changes)):
		return change.Neutral
	case i == len(r.changes):
		return change.Loss
	case i > len(r.changes):
		return change.Break
	}
	return r.changes[i].Effect(hits)
}

// text returns a change for a message.
func (r *Report) text(i int, names func() bool) (path, message string) {
	switch i {
	case len(r.changes):
		path, message = "spec.versions", "stored objects lose fields"
	case len(r.changes) + 1:
		path, message = "spec.versions", "the server refuses stored objects when they are written again"
	default:
		c := r.changes[i]
		path, message = c.Path, c.Message
		if c.Reason != "" {
			message += ": " + c.Reason
		}
	}
	if count := r.found[i].count.most; count > 0 {
		message += fmt.Sprintf(" (%s", finding.Quantity(count, "stored object"))
		if names() {
			message += ": " + strings.Join(r.found[i].names, ", ")
			if path := r.found[i].path; path != "" {
				message += ", for example at " + path // it may have a key of a map
			}
		}
		message += ")"
	}
	return path, message
}

// Refuse returns the answer to a change that the policy refuses, nil if there is none. names says that the user may read the names of
// objects.
func (r *Report) Refuse(policy definition.GatePolicy, names func() bool) error {
	refused := change.Loss
	switch policy {
	case definition.Warn:
		return nil
	case definition.RefuseBreaking:
		refused = change.Break
	}
	var causes []metav1.StatusCause
	var messages []string
	count := 0
	for i := range r.found {
		effect := r.effect(i)
		if effect < refused {
			continue
		}
		if count++; count > maxCauses {
			continue
		}
		path, message := r.text(i, names)
		causes = append(causes, metav1.StatusCause{Type: cause(effect), Field: path, Message: message})
		if count <= maxNamed {
			messages = append(messages, path+": "+message)
		}
	}
	advice := fmt.Sprintf("the policy %s of the definition refuses this: to write it anyway, first set the annotation %s to %s, with the right to %s",
		policy, definition.GateAnnotation, definition.Warn, Verb)
	if len(causes) > 0 {
		// kubectl shows the causes, and not the message.
		last := &causes[len(causes)-1].Message
		*last = strings.Join(slices.Concat([]string{*last}, more(count-maxCauses), []string{advice}), "; ")
		messages = append(messages, more(count-maxNamed)...)
		kind := schema.GroupKind{Group: definition.Kind.Group, Kind: definition.Kind.Kind}
		err := apierrors.NewInvalid(kind, r.CRD.Name, nil)
		err.ErrStatus.Details.Causes = causes
		err.ErrStatus.Message = fmt.Sprintf("%s %q is invalid: %s; %s", kind, r.CRD.Name, strings.Join(messages, "; "), advice)
		return err
	}
	if r.Late > 0 {
		err := apierrors.NewTimeoutError(fmt.Sprintf("%s; %s", r.lateText(), advice), 1)
		details := err.ErrStatus.Details
		details.Group, details.Kind, details.Name = definition.Resource.Group, definition.Resource.Resource, r.CRD.Name
		return err
	}
	return nil
}

// more returns a text for changes that are not named, none if the number is not positive.
func more(count int) []string {
	if count <= 0 {
		return nil
	}
	return []string{finding.Quantity(count, "change") + " more"}
}

// lateText says that objects could not be read in time.
func (r *Report) lateText() string {
	return fmt.Sprintf("%s: the stored objects could not all be read within %v: %s read so far",
		r.CRD.Name, r.Late, finding.Quantity(r.objects.most, "object"))
}

// cause returns the type of a cause.
func cause(effect change.Effect) metav1.CauseType {
	if effect == change.Loss {
		return CauseTypeLoss
	}
	return CauseTypeBreak
}

// Warnings returns the warnings about a change that is accepted.
func (r *Report) Warnings(policy definition.GatePolicy, names func() bool) []string {
	least := change.Break
	if policy == definition.RefuseBreaking {
		least = change.Neutral
	}
	var out []string
	count := 0
	for i := range r.found {
		if !r.isWarned(i, least) {
			continue
		}
		if count++; count <= maxNamed {
			path, message := r.text(i, names)
			out = append(out, path+": "+message)
		}
	}
	for _, text := range more(count - maxNamed) {
		out = append(out, fmt.Sprintf("%s: %s, see holdfast schema diff", r.CRD.Name, text))
	}
	if r.Late > 0 {
		out = append(out, r.lateText())
	}
	return out
}

// Losses returns the first places in the definition where a change loses something, and how many more there are.
func (r *Report) Losses() []string {
	var out []string
	count := 0
	for i := range r.found {
		if r.effect(i) != change.Loss {
			continue
		}
		if count++; count <= maxNamed {
			path, _ := r.text(i, func() bool { return false })
			out = append(out, path)
		}
	}
	return append(out, more(count-maxNamed)...)
}

// isWarned reports whether a response warns about a change. Package definition warns about weaker rules itself.
func (r *Report) isWarned(i int, least change.Effect) bool {
	if i >= len(r.changes) {
		return r.found[i].count.most > 0
	}
	c := r.changes[i]
	return r.effect(i) >= least && !c.IsWeakerRule() && (least != change.Neutral || c.Severity >= finding.Warning)
}

// Weaker returns the answer to a write that makes the policy of a definition weaker, of a user that may not do that.
func Weaker(crd *definition.CustomResourceDefinition, inForce, next definition.GatePolicy) error {
	return apierrors.NewForbidden(definition.Resource, crd.Name, fmt.Errorf(
		"the policy of the definition would change from %s to %s, and the user may not %s it (annotation %s)", inForce, next, Verb, definition.GateAnnotation))
}

// Unreadable returns the answer to a write if the stored objects cannot be read.
func Unreadable(crd *definition.CustomResourceDefinition, err error) error {
	return apierrors.NewInternalError(fmt.Errorf("read the stored objects of %s: %w", crd.Name, err))
}

// ResourceOf returns the resource of the objects of a definition.
func ResourceOf(crd *definition.CustomResourceDefinition) schema.GroupResource {
	return schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
}
