package owners_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/managers"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

// history is a random history of one object, and what each manager applied last.
type history struct {
	testing.TB
	model
	name   string
	client dynamic.ResourceInterface
	random *rand.Rand
	files  map[string]map[string]string
	log    []string
	// clientOnly means that no manager uses server-side apply.
	clientOnly bool
	// by is the manager of client-side apply: that of kubectl, or Argo CD. gone are managers that no longer apply.
	by   string
	gone []string
	// oneSecond means that all writes are in the same second: managed fields have no smaller times. The times of the entries are set
	// here, and are not those of the server, so that a history is the same on a slow machine.
	oneSecond bool
	times     map[managers.Writer]metav1.Time
}

// some returns some fields with random values.
func (h *history) some() map[string]string {
	values := map[string]string{}
	for _, name := range h.names() {
		if h.random.IntN(2) == 0 {
			values[name] = []string{"one", "two"}[h.random.IntN(2)]
		}
	}
	return values
}

// make does some writes. It returns the object, nil if there is none.
func (h *history) make(steps int) *unstructured.Unstructured {
	h.times = map[managers.Writer]metav1.Time{}
	var obj *unstructured.Unstructured
	for second := range steps {
		writer := h.step()
		after, err := h.client.Get(h.Context(), h.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			h.Fatal(err)
		}
		if h.oneSecond {
			second = 0
		}
		now := metav1.Unix(int64(second), 0)
		// A write that changes nothing leaves the time of its entry.
		if obj == nil || obj.GetResourceVersion() != after.GetResourceVersion() {
			h.times[writer] = now
		}
		for _, entry := range after.GetManagedFields() {
			// The server itself adds entries of before-first-apply.
			if _, ok := h.times[managers.WriterOf(entry)]; !ok {
				h.times[managers.WriterOf(entry)] = now
			}
		}
		obj = after
	}
	if obj == nil {
		return nil
	}
	entries := obj.GetManagedFields()
	for i := range entries {
		at := h.times[managers.WriterOf(entries[i])]
		entries[i].Time = &at
	}
	obj.SetManagedFields(entries)
	return obj
}

// step does one write. It returns the writer.
func (h *history) step() managers.Writer {
	const apply, update = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	appliers := []string{"kubectl", "kustomize-controller", "argocd-controller", "helm", "ci"}
	kind := h.random.IntN(6)
	if h.clientOnly && (kind == 2 || kind == 3) {
		kind = 0
	}
	switch kind {
	case 0, 1:
		values := h.some()
		_, err := h.clientSide(values, false)
		h.done(err, byClient, values)
		h.check(err, "client-side apply", values)
		return managers.Writer{Manager: h.by, Operation: update}
	case 2, 3:
		manager, values := appliers[h.random.IntN(len(appliers))], h.some()
		_, err := h.apply(manager, values, false)
		h.done(err, manager, values)
		h.check(err, "apply as "+manager, values)
		return managers.Writer{Manager: manager, Operation: apply}
	case 4:
		manager := []string{"helm", "argocd-controller", "kubectl-edit"}[h.random.IntN(3)]
		values := map[string]string{}
		for _, name := range slices.Sorted(maps.Keys(h.fields)) {
			if h.random.IntN(3) == 0 {
				values[name] = "three"
			}
		}
		_, err := h.client.Patch(h.Context(), h.name, types.MergePatchType, h.encode(h.patch(values)), metav1.PatchOptions{FieldManager: manager})
		if !apierrors.IsNotFound(err) {
			h.check(err, "patch as "+manager, values)
		}
		return managers.Writer{Manager: manager, Operation: update}
	default:
		// The configuration changes, and the object does not: kubectl apply set-last-applied.
		values := h.some()
		patch := map[string]any{"metadata": map[string]any{"annotations": map[string]any{ownership.LastApplied: h.configuration(values)}}}
		const manager = "kubectl-set-last-applied"
		_, err := h.client.Patch(h.Context(), h.name, types.MergePatchType, h.encode(patch), metav1.PatchOptions{FieldManager: manager})
		if !apierrors.IsNotFound(err) {
			h.done(err, byClient, values)
			h.check(err, "set-last-applied", values)
		}
		return managers.Writer{Manager: manager, Operation: update}
	}
}

// byClient is the manager of client-side apply, also in files.
const byClient = managers.ClientSideApply

// done records what a manager applied.
func (h *history) done(err error, manager string, values map[string]string) {
	if err == nil {
		h.files[manager] = values
	}
}

// check fails the test if a write failed. The server may refuse an apply that leaves a part of an item, which is no valid item.
func (h *history) check(err error, what string, values map[string]string) {
	h.Helper()
	h.log = append(h.log, fmt.Sprintf("%s %v", what, values))
	if err != nil && !apierrors.IsInvalid(err) {
		h.Fatalf("%s: %v", strings.Join(h.log, "\n"), err)
	}
}

func (h *history) encode(content any) []byte {
	h.Helper()
	data, err := json.Marshal(content)
	if err != nil {
		h.Fatal(err)
	}
	return data
}

// patch returns a JSON merge patch with fields that are in no list.
func (h *history) patch(values map[string]string) map[string]any {
	patch := map[string]any{}
	for path, text := range h.fields {
		if value, ok := values[path]; ok {
			merge(patch, yamltest.Map(h, fmt.Sprintf(text, value)))
		}
	}
	return patch
}

func (h *history) configuration(values map[string]string) string {
	return string(h.encode(h.file(h, h.name, values).Object))
}

func dryRun(dry bool) []string {
	if dry {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// apply applies a file on the server.
func (h *history) apply(manager string, values map[string]string, dry bool) (*unstructured.Unstructured, error) {
	return h.client.Apply(h.Context(), h.name, h.file(h, h.name, values), metav1.ApplyOptions{FieldManager: manager, Force: true, DryRun: dryRun(dry)})
}

// clientSide applies a file as kubectl apply does.
func (h *history) clientSide(values map[string]string, dry bool) (*unstructured.Unstructured, error) {
	modified := h.file(h, h.name, values)
	annotations := modified.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[ownership.LastApplied] = h.configuration(values)
	modified.SetAnnotations(annotations)
	live, err := h.client.Get(h.Context(), h.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return h.client.Create(h.Context(), modified, metav1.CreateOptions{FieldManager: h.by, DryRun: dryRun(dry)})
	}
	if err != nil {
		return nil, err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(h.typed)
	if err != nil {
		return nil, err
	}
	original := live.GetAnnotations()[ownership.LastApplied]
	patch, err := strategicpatch.CreateThreeWayMergePatch([]byte(original), h.encode(modified.Object), h.encode(live.Object), meta, true)
	if err != nil {
		return nil, err
	}
	return h.client.Patch(h.Context(), h.name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: h.by, DryRun: dryRun(dry)})
}
