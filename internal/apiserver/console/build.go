package console

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/operator/plan"
	"holdfast.dev/holdfast/internal/replacement"
	"holdfast.dev/holdfast/internal/series"
	"holdfast.dev/holdfast/ownership"
)

// noteUnread replaces the note about the last-applied configuration of a Secret. The note itself
// may quote a part of the configuration.
const noteUnread = "the last-applied configuration cannot be read in full"

// report returns the report about an object, of which body is the JSON.
func (s Sources) report(ctx context.Context, of schema.GroupVersionResource, body []byte) (*Report, error) {
	obj := unstructured.Unstructured{}
	if err := utiljson.Unmarshal(body, &obj.Object); err != nil {
		return nil, fmt.Errorf("decode the object: %w", err)
	}
	about := subject{of, obj, s.Rights}
	known, err := s.explain(ctx, about, body)
	if err != nil {
		return nil, err
	}
	commands, err := s.Ownership.Commands(ctx, obj.GetUID())
	if err != nil {
		return nil, fmt.Errorf("read commands: %w", err)
	}
	owned := ownership.Subject{Type: known.kind, Object: obj.Object, Managers: obj.GetManagedFields(), Commands: commands}
	fields, note := owned.OwnerReport()
	if note != "" && known.kind.Redacted {
		note = noteUnread
	}
	report := &Report{
		TypeMeta: metav1.TypeMeta{APIVersion: "console.holdfast.dev/v1", Kind: "Report"}, Object: objectOf(obj),
		Notes: known.notes, Locks: known.locks, Kept: []Kept{}, NeverReplaced: replacement.Never(of.GroupResource()),
		Applied: owned.IsApplied(), Drift: fieldsOf(owned.DriftReport()), Fields: fieldsOf(fields),
	}
	if note != "" {
		report.Notes = append(report.Notes, note)
	}
	if err := s.addPolicies(ctx, report, about); err != nil {
		return nil, err
	}
	if err := s.addKind(ctx, report, body); err != nil {
		return nil, err
	}
	report.addRules()
	return report, nil
}

func objectOf(obj unstructured.Unstructured) Object {
	named := Object{
		APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(), Namespace: obj.GetNamespace(), Name: obj.GetName(),
		UID: string(obj.GetUID()), ResourceVersion: obj.GetResourceVersion(), Created: obj.GetCreationTimestamp().UTC(),
	}
	if deleted := obj.GetDeletionTimestamp(); deleted != nil {
		at := deleted.UTC()
		named.Deleted = &at
	}
	if named.APIVersion == "v1" && (named.Kind == "ConfigMap" || named.Kind == "Secret") {
		named.Series = obj.GetLabels()[series.Label]
	}
	return named
}

// addNote adds a note.
func (r *Report) addNote(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// addKind adds the parts of a report that only one kind has.
func (s Sources) addKind(ctx context.Context, r *Report, body []byte) error {
	switch schema.FromAPIVersionAndKind(r.Object.APIVersion, r.Object.Kind) {
	case definition.Kind:
		crd := &definition.CustomResourceDefinition{}
		if err := json.Unmarshal(body, crd); err != nil {
			return fmt.Errorf("decode the definition: %w", err)
		}
		r.Versions = versionsOf(crd)
	case api.GroupVersion.WithKind("Instance"):
		instance := &api.Instance{}
		if err := json.Unmarshal(body, instance); err != nil {
			return fmt.Errorf("decode the instance: %w", err)
		}
		r.Plans, r.Running = plan.Recent(instance), instance.RunningPlan()
		return s.addParameters(ctx, r, instance)
	}
	return nil
}
