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

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/managers"
	"holdfast.dev/holdfast/internal/native/views"
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

// step does one write.
func (h *history) step() {
	managers := []string{"kubectl", "kustomize-controller", "argocd-controller", "helm", "ci"}
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
	case 2, 3:
		manager, values := managers[h.random.IntN(len(managers))], h.some()
		_, err := h.apply(manager, values, false)
		h.done(err, manager, values)
		h.check(err, "apply as "+manager, values)
	case 4:
		manager := []string{"helm", "argocd-controller", "kubectl-edit"}[h.random.IntN(3)]
		values := map[string]string{}
		for _, name := range slices.Sorted(maps.Keys(h.fields)) {
			if h.random.IntN(3) == 0 {
				values[name] = "three"
			}
		}
		_, err := h.client.Patch(h.Context(), h.name, types.MergePatchType, h.encode(h.patch(values)), metav1.PatchOptions{FieldManager: manager})
		if apierrors.IsNotFound(err) {
			return
		}
		h.check(err, "patch as "+manager, values)
	default:
		// The configuration changes, and the object does not: kubectl apply set-last-applied.
		values := h.some()
		patch := map[string]any{"metadata": map[string]any{"annotations": map[string]any{ownership.LastApplied: h.configuration(values)}}}
		_, err := h.client.Patch(h.Context(), h.name, types.MergePatchType, h.encode(patch), metav1.PatchOptions{FieldManager: "kubectl-set-last-applied"})
		if apierrors.IsNotFound(err) {
			return
		}
		h.done(err, byClient, values)
		h.check(err, "set-last-applied", values)
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

// has reports whether an object has a field of the model.
func (h *history) has(obj *unstructured.Unstructured, path string) bool {
	fields, _ := ownership.Owners(kinds.Of(obj.GroupVersionKind().GroupKind()), obj.Object, nil, ownership.Commands{})
	return slices.ContainsFunc(fields, func(f ownership.Field) bool {
		text := f.Path.String()
		return text == path || strings.HasPrefix(text, path+".") || strings.HasPrefix(text, path+"[")
	})
}

var kinds = views.New()

// TestStuckIsWhatTheServerKeeps makes random histories of objects. The server is the oracle: it keeps each stuck field in a dry run of an
// apply without it, and removes each field that the manager owns and that is not stuck.
func TestStuckIsWhatTheServerKeeps(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{Ownership: "off"})
	client := dynamic.NewForConfigOrDie(server.Config(t))
	counts := map[managers.Reason]int{}
	removed := 0
	for kind, m := range models {
		for seed := range uint64(100) {
			h := &history{
				TB: t, model: m, name: fmt.Sprintf("o%d", seed), client: client.Resource(m.resource).Namespace("default"),
				random: rand.New(rand.NewPCG(seed, 1)), files: map[string]map[string]string{},
				clientOnly: seed%3 == 0, by: byClient,
			}
			if h.clientOnly && seed%2 == 0 {
				h.by = "argocd-controller"
			}
			if seed%5 < 2 {
				h.gone = []string{"helm"}
			}
			for range 2 + h.random.IntN(5) {
				h.step()
			}
			obj, err := h.client.Get(t.Context(), h.name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			subject := ownership.Subject{Type: kinds.Of(obj.GroupVersionKind().GroupKind()), Object: obj.Object, Managers: obj.GetManagedFields()}
			found, err := managers.Examine(subject, h.gone)
			if err != nil {
				t.Fatal(err)
			}
			removed += h.judge(fmt.Sprintf("%s, seed %d", kind, seed), obj, found, counts)
		}
	}
	t.Logf("stuck fields by reason: %v; fields that an apply removes: %d", counts, removed)
	for _, reason := range []managers.Reason{managers.CoOwned, managers.LeftBehind, managers.NotApplied} {
		if counts[reason] < 10 {
			t.Errorf("%s: only %d fields, so that the histories show too little", reason, counts[reason])
		}
	}
	if removed < 100 {
		t.Errorf("only %d fields that an apply removes", removed)
	}
}

// judge checks the claims about one object. It returns the number of fields that an apply removes.
func (h *history) judge(name string, obj *unstructured.Unstructured, found managers.Findings, counts map[managers.Reason]int) int {
	t := h.TB
	stuck := map[string]bool{}
	appliers := map[string]bool{}
	fail := func(format string, args ...any) {
		t.Errorf("%s: %s\nhistory:\n%s\nfound: %+v", name, fmt.Sprintf(format, args...), strings.Join(h.log, "\n"), found.Stuck)
	}
	for _, one := range found.Stuck {
		path := one.Path.String()
		stuck[path], appliers[one.Applier] = true, true
		if !slices.Contains(h.names(), path) {
			continue
		}
		counts[one.Reason]++
		applier := one.Applier
		if h.clientOnly || one.Reason == managers.NotApplied {
			applier = byClient
		}
		if one.Applier == "" {
			continue // no manager applies the object
		}
		after, err := h.without(applier, path)
		if apierrors.IsInvalid(err) {
			continue // a part of an item stays, which is no valid item
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.has(after, path) {
			fail("%s is %s, and an apply of %s removes it", path, one.Reason, one.Applier)
		}
	}
	removed := 0
	if h.clientOnly {
		for path := range h.files[byClient] {
			after, err := h.without(byClient, path)
			if err != nil {
				t.Fatal(err)
			}
			if removed++; h.has(after, path) {
				fail("%s is not stuck, and kubectl apply leaves it", path)
			}
		}
	}
	for _, entry := range obj.GetManagedFields() {
		if entry.Operation != metav1.ManagedFieldsOperationApply || h.files[entry.Manager] == nil || slices.Contains(h.gone, entry.Manager) {
			continue
		}
		for path := range h.files[entry.Manager] {
			if stuck[path] || h.isShared(obj, entry.Manager, path) || h.isAround(path, stuck) {
				continue
			}
			after, err := h.without(entry.Manager, path)
			if apierrors.IsInvalid(err) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if removed++; h.has(after, path) {
				fail("%s is not stuck, and an apply of %s leaves it", path, entry.Manager)
			}
		}
	}
	return removed
}

// without applies the last file of a manager without a field, as a dry run.
func (h *history) without(manager, path string) (*unstructured.Unstructured, error) {
	values := maps.Clone(h.files[manager])
	delete(values, path)
	if manager == byClient {
		return h.clientSide(values, true)
	}
	return h.apply(manager, values, true)
}

// isAround reports whether a stuck field is inside of a list item, or the item around a field.
func (h *history) isAround(path string, stuck map[string]bool) bool {
	for one := range stuck {
		if strings.HasPrefix(one, path+".") || strings.HasSuffix(one, "]") && strings.HasPrefix(path, one+".") {
			return true
		}
	}
	return false
}

// isShared reports whether another manager owns a field and is no earlier way of applying: then the field is its own.
func (h *history) isShared(obj *unstructured.Unstructured, manager, path string) bool {
	parsed, err := ownership.ParsePath(path)
	if err != nil {
		h.Fatal(err)
	}
	return slices.ContainsFunc(obj.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		isOther := entry.Manager != manager || entry.Operation != metav1.ManagedFieldsOperationApply
		set, err := managers.Decode(entry)
		return isOther && err == nil && isOrdinary(obj, entry) && !managers.Within(set, parsed).Empty()
	})
}

// isOrdinary reports whether an entry may be of a manager that still writes: another manager of server-side apply, and every manager of
// updates except client-side apply and those that also apply.
func isOrdinary(obj *unstructured.Unstructured, entry metav1.ManagedFieldsEntry) bool {
	if entry.Operation == metav1.ManagedFieldsOperationApply {
		return true
	}
	return entry.Manager != managers.ClientSideApply && entry.Manager != managers.BeforeFirstApply &&
		!slices.ContainsFunc(obj.GetManagedFields(), func(other metav1.ManagedFieldsEntry) bool {
			return other.Manager == entry.Manager && other.Operation == metav1.ManagedFieldsOperationApply
		})
}
