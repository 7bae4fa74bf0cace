package fieldownership

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/native/views"
	"holdfast.dev/holdfast/ownership"
	"holdfast.dev/holdfast/value"
)

// newWrite translates an update for package ownership.
func newWrite(u Update, writer ownership.Writer) (ownership.Write, error) {
	write := ownership.Write{Type: u.Type, Writer: writer}
	live, err := meta.Accessor(u.Live)
	if err != nil {
		return write, err
	}
	updated, err := meta.Accessor(u.New)
	if err != nil {
		return write, err
	}
	apply := mayBeApply(live, updated, writer)
	if apply || hasApply(u.Live) {
		// The managed fields of a custom resource are read only if they are needed:
		// decoding them costs more than most judgements.
		write.LiveManagers, write.NewManagers = live.GetManagedFields(), updated.GetManagedFields()
	}
	oldObj, isCustom := u.Live.(runtime.Unstructured)
	newObj, okNew := u.New.(runtime.Unstructured)
	switch {
	case isCustom && okNew:
		write.Live, write.New = oldObj.UnstructuredContent(), newObj.UnstructuredContent()
		return write, nil
	case apply || isAggregated(u.Live):
		// The judgement of an apply also needs the fields that the apply does not change, and that of a role its aggregationRule.
		return write, complete(&write, u)
	}
	if write.Live, write.New, err = views.Differing(u.Live, u.New); err != nil {
		return write, err
	}
	write.Partial = true
	setKind(&write, u)
	return write, nil
}

// complete puts the whole objects of a built-in kind into a write.
func complete(write *ownership.Write, u Update) (err error) {
	if write.Live, err = views.Content(u.Live); err != nil {
		return err
	}
	if write.New, err = views.Content(u.New); err != nil {
		return err
	}
	write.Partial = false
	setKind(write, u)
	return nil
}

func setKind(write *ownership.Write, u Update) {
	for _, content := range []map[string]any{write.Live, write.New} {
		content["apiVersion"], content["kind"] = u.Kind.ToAPIVersionAndKind()
	}
}

// needsWhole says whether a finding about the differing parts of two objects may be another
// one for the whole objects. The parts of a map show only the keys that differ. The server
// sets defaults inside of maps and lists, and in place of values that it does not store, and
// these defaults may depend on other fields.
func needsWhole(verdict *ownership.Verdict) bool {
	return slices.ContainsFunc(verdict.Findings, func(f ownership.Finding) bool {
		return isComposite(f.Live) || isComposite(f.New) || isComposite(f.Applied) || mayBeOmitted(f.Applied)
	})
}

func isComposite(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// mayBeOmitted says whether the server may store nothing for a scalar.
func mayBeOmitted(v any) bool {
	switch v {
	case nil, value.Absent{}, false, "", int64(0), float64(0):
		return true
	}
	return false
}

// mayBeApply says whether a write is an apply, or may turn out to be one.
func mayBeApply(live, updated metav1.Object, writer ownership.Writer) bool {
	switch writer.Act {
	case ownership.Apply, ownership.ServerSideApply:
		return true
	case ownership.Imperative:
		return !writer.Exact && live.GetAnnotations()[ownership.LastApplied] != updated.GetAnnotations()[ownership.LastApplied]
	}
	return false
}

// isOwned says whether any field of an object may be owned. It is a cheap check before
// the full judgement.
func isOwned(u Update, writer ownership.Writer) bool {
	return writer.Act == ownership.ServerSideApply || annotated(u.Live) || annotated(u.New) || hasApply(u.Live)
}

func annotated(obj any) bool { return appliedTo(obj) != "" }

// appliedTo returns the last-applied configuration of an object, "" if it has none.
func appliedTo(obj any) string {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return accessor.GetAnnotations()[ownership.LastApplied]
}

// hasApply says whether a manager applies the object by server-side apply.
func hasApply(obj any) bool {
	if custom, ok := obj.(runtime.Unstructured); ok {
		metadata, _ := custom.UnstructuredContent()["metadata"].(map[string]any)
		entries, _ := metadata["managedFields"].([]any)
		for _, entry := range entries {
			if fields, ok := entry.(map[string]any); ok && fields["operation"] == string(metav1.ManagedFieldsOperationApply) {
				return true
			}
		}
		return false
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return false
	}
	for _, entry := range accessor.GetManagedFields() {
		if entry.Operation == metav1.ManagedFieldsOperationApply {
			return true
		}
	}
	return false
}

// withAnnotation returns a copy of annotations with a last-applied configuration.
func withAnnotation(annotations map[string]string, text string) map[string]string {
	out := maps.Clone(annotations)
	if out == nil {
		out = map[string]string{}
	}
	out[ownership.LastApplied] = text
	return out
}

// resourceOf returns the name of the object of an update in messages.
func resourceOf(u Update) string {
	accessor, err := meta.Accessor(u.Live)
	if err != nil {
		return ""
	}
	return ownership.ResourceOf(u.Kind.Group, u.Kind.Kind, accessor.GetNamespace(), accessor.GetName())
}

func uidOf(obj any) types.UID {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return accessor.GetUID()
}
