package views_test

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

// operation is a write by a client. It returns the warnings for the client.
type operation func(w *simulation) []string

// byApply is a request of kubectl apply.
var byApply = ownership.Request{Command: "kubectl apply", FieldManager: "kubectl-client-side-apply", User: "jane"}

// apply simulates kubectl apply of a file.
func apply(file string) operation {
	return func(w *simulation) []string {
		return w.apply(byApply, file)
	}
}

func (w *simulation) apply(request ownership.Request, file string) []string {
	lines, err := w.tryApply(request, file)
	w.check(err)
	return lines
}

// tryApply is apply, but returns the error of a patch that kubectl cannot create or the server
// cannot apply.
func (w *simulation) tryApply(request ownership.Request, file string) ([]string, error) {
	config := yamltest.Map(w.t, file)
	text, err := ownership.Replacement(config)
	w.check(err)
	modified := w.annotate(config, text)
	if !w.exists() {
		return w.write(request, modified, false), nil
	}
	live := w.live()
	original := []byte(live.GetAnnotations()[ownership.LastApplied])
	current := encode(w.t, live.Object)
	if typed, err := w.scheme.New(w.kind); err == nil {
		meta, err := strategicpatch.NewPatchMetaFromStruct(typed)
		w.check(err)
		patch, err := strategicpatch.CreateThreeWayMergePatch(original, encode(w.t, modified), current, meta, true)
		if err != nil {
			return nil, err
		}
		merged, err := strategicpatch.StrategicMergePatch(current, patch, typed)
		if err != nil {
			return nil, err
		}
		return w.write(request, yamltest.Map(w.t, string(merged)), false), nil
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(original, encode(w.t, modified), current)
	w.check(err)
	return w.write(request, mergePatch(yamltest.Map(w.t, string(current)), yamltest.Map(w.t, string(patch))), false), nil
}

// mergePatch applies a JSON merge patch to obj.
func mergePatch(obj, patch map[string]any) map[string]any {
	for name, value := range patch {
		below, isMap := value.(map[string]any)
		old, wasMap := obj[name].(map[string]any)
		switch {
		case value == nil:
			delete(obj, name)
		case isMap && wasMap:
			obj[name] = mergePatch(old, below)
		default:
			obj[name] = value
		}
	}
	return obj
}

// annotate returns a copy of config with the last-applied annotation.
func (w *simulation) annotate(config map[string]any, text string) map[string]any {
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(config)}
	annotations := maps.Clone(u.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[ownership.LastApplied] = text
	u.SetAnnotations(annotations)
	return u.Object
}

// patchWith simulates a command that sends a patch, such as "kubectl set image" with the field
// manager "kubectl-set".
func patchWith(command, manager, patch string) operation {
	return patchAs(ownership.Request{Command: command, FieldManager: manager, UserAgent: "kubectl/v1", User: "jane"}, patch)
}

// edit simulates kubectl edit.
func edit(patch string) operation { return patchWith("kubectl edit", "kubectl-edit", patch) }

// patchAs simulates a patch by any client.
func patchAs(request ownership.Request, patch string) operation {
	return func(w *simulation) []string {
		current, data := encode(w.t, w.live().Object), encode(w.t, yamltest.Map(w.t, patch))
		typed, err := w.scheme.New(w.kind)
		if err != nil {
			return w.write(request, mergePatch(yamltest.Map(w.t, string(current)), yamltest.Map(w.t, patch)), false)
		}
		merged, err := strategicpatch.StrategicMergePatch(current, data, typed)
		w.check(err)
		return w.write(request, yamltest.Map(w.t, string(merged)), false)
	}
}

// mergeWith simulates a command that sends a JSON merge patch.
func mergeWith(command, manager, patch string) operation {
	return func(w *simulation) []string {
		request := ownership.Request{Command: command, FieldManager: manager, UserAgent: "kubectl/v1", User: "jane"}
		return w.write(request, mergePatch(w.live().Object, yamltest.Map(w.t, patch)), false)
	}
}

// scale simulates kubectl scale.
func scale(n int) operation {
	return patchWith("kubectl scale", "", fmt.Sprintf(`{"spec":{"replicas":%d}}`, n))
}

// create simulates kubectl create of a file.
func create(file string) operation {
	return func(w *simulation) []string {
		return w.write(ownership.Request{Command: "kubectl create", FieldManager: "kubectl-create", User: "jane"}, yamltest.Map(w.t, file), false)
	}
}

// replace simulates kubectl replace of a file.
func replace(file string) operation {
	return func(w *simulation) []string {
		config := yamltest.Map(w.t, file)
		updated, live := config, w.live()
		text, replaced := live.GetAnnotations()[ownership.LastApplied], false
		if text != "" && !ownership.EqualJudged(w.typ, live.Object, w.normalize(runtime.DeepCopyJSON(config))) {
			var err error
			text, err = ownership.Replacement(config)
			w.check(err)
			replaced = true
		}
		if text != "" {
			updated = w.annotate(config, text)
		}
		return w.write(ownership.Request{Command: "kubectl replace", FieldManager: "kubectl-replace", User: "jane"}, updated, replaced)
	}
}

// applyServerSide simulates a server-side apply by a user.
func applyServerSide(manager string, force bool, file string) operation {
	return func(w *simulation) []string {
		live := w.live()
		existed := w.exists()
		err := w.fields.Apply(&unstructured.Unstructured{Object: yamltest.Map(w.t, file)}, manager, force)
		if err != nil {
			w.rejected = []string{"conflict"} // the exact message is not of interest here
			return nil
		}
		if !existed {
			return nil
		}
		writer := ownership.ParseWriter(ownership.Request{
			Command: "kubectl apply", FieldManager: manager, User: "jane", ServerSide: true, Forced: force,
		})
		verdict := w.judge(writer, live, w.live())
		verdict.Explain(w.commands)
		return warningsOf(verdict)
	}
}
