package fieldownership

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/native/views"
	"holdfast.dev/holdfast/ownership"
)

// newWrite is an update as package ownership takes it.
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
		// Reading those of a custom resource costs more than most judgements.
		write.LiveManagers, write.NewManagers = live.GetManagedFields(), updated.GetManagedFields()
	}
	oldObj, isCustom := u.Live.(*unstructured.Unstructured)
	newObj, okNew := u.New.(*unstructured.Unstructured)
	switch {
	case isCustom && okNew:
		write.Live, write.New = oldObj.Object, newObj.Object
		return write, nil
	case apply:
		// An apply is judged by what it leaves alone, too.
		return write, complete(&write, u)
	}
	if write.Live, write.New, err = views.Differing(u.Live, u.New); err != nil {
		return write, err
	}
	name(&write, u)
	return write, nil
}

// complete gives a write the whole objects of a built-in kind.
func complete(write *ownership.Write, u Update) (err error) {
	if write.Live, err = views.Content(u.Live); err != nil {
		return err
	}
	if write.New, err = views.Content(u.New); err != nil {
		return err
	}
	name(write, u)
	return nil
}

func name(write *ownership.Write, u Update) {
	for _, content := range []map[string]any{write.Live, write.New} {
		content["apiVersion"], content["kind"] = u.Kind.ToAPIVersionAndKind()
	}
}

// showsParts says whether a finding is about something that is one value to
// server-side apply and has parts: what is equal in them is missing then.
func showsParts(verdict *ownership.Verdict) bool {
	return slices.ContainsFunc(verdict.Findings, func(f ownership.Finding) bool {
		_, ok := f.Live.(map[string]any)
		return ok && f.Manager != ""
	})
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

// isOwned says whether anything of an object is owned, before it costs more to
// find out.
func isOwned(u Update, writer ownership.Writer) bool {
	return writer.Act == ownership.ServerSideApply || annotated(u.Live) || annotated(u.New) || hasApply(u.Live)
}

func annotated(obj any) bool {
	accessor, err := meta.Accessor(obj)
	return err == nil && accessor.GetAnnotations()[ownership.LastApplied] != ""
}

// hasApply says whether anybody applies an object on the server's side.
func hasApply(obj any) bool {
	if custom, ok := obj.(*unstructured.Unstructured); ok {
		metadata, _ := custom.Object["metadata"].(map[string]any)
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

// withAnnotation is a set of annotations with the last-applied configuration.
func withAnnotation(annotations map[string]string, text string) map[string]string {
	out := maps.Clone(annotations)
	if out == nil {
		out = map[string]string{}
	}
	out[ownership.LastApplied] = text
	return out
}

func uidOf(obj any) types.UID {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return accessor.GetUID()
}
