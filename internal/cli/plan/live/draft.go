package live

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/cli/plan"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/preview"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/value"
)

// draft is a plan in the making, with its object.
type draft struct {
	plan.Plan
	in *input
	// crd is the definition of a custom resource, if the plan needed it.
	crd *definition.CustomResourceDefinition
	// dependents are the objects of Stay.
	dependents []relative
}

func (d *draft) note(format string, args ...any) {
	d.Notes = append(d.Notes, fmt.Sprintf(format, args...))
}

// fail makes the plan that of an object that could not be judged.
func (d *draft) fail(err error) {
	d.Outcome = plan.Unknown
	d.Reasons = []finding.Finding{{Rule: plan.InvalidRule, Severity: finding.Error, Message: err.Error()}}
}

// refuse makes the plan that of an object that the server refuses.
func (d *draft) refuse(reasons []finding.Finding) { d.Outcome, d.Reasons = preview.Invalid, reasons }

// live returns the object that the server has, nil if there is none.
func (d *draft) live() map[string]any { return contentOf(d.in.info.Object) }

// compare makes the plan that of an update, by its result.
func (d *draft) compare(merged map[string]any) {
	d.Outcome = preview.InPlace
	if d.Changes = changes(d.live(), merged); len(d.Changes) == 0 {
		d.Outcome = preview.Unchanged
	}
}

// explained adds the old values to the reasons about immutable fields. Kubernetes names only the
// new ones. It leaves out those of a Secret.
func (d *draft) explained(reasons []finding.Finding) []finding.Finding {
	for i := range reasons {
		f := &reasons[i]
		if f.Rule != plan.ImmutableRule || f.Fix != "" || strings.Contains(f.Message, "changed from") || d.in.GetKind() == "Secret" {
			continue
		}
		if old, ok := valueOf(d.live(), f.Path); ok {
			f.Fix = "the cluster has " + value.Printer{LiteralHTML: true}.Print(old)
		}
	}
	return reasons
}

// valueOf returns the value at a path of names, false if there is none or the path has other
// steps.
func valueOf(object map[string]any, path string) (any, bool) {
	var current any = object
	for _, name := range strings.Split(path, ".") {
		fields, ok := current.(map[string]any)
		if !ok {
			return nil, false
		}
		if current, ok = fields[name]; !ok {
			return nil, false
		}
	}
	return current, true
}

// contentOf returns the fields of an object, nil for nil.
func contentOf(object runtime.Object) map[string]any {
	if u, ok := object.(*unstructured.Unstructured); ok && u != nil {
		return u.Object
	}
	return nil
}
