package owners_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/managers"
	"holdfast.dev/holdfast/internal/native/views"
	"holdfast.dev/holdfast/ownership"
)

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
				clientOnly: seed%3 == 0, by: byClient, oneSecond: seed%4 < 2,
			}
			if h.clientOnly && seed%2 == 0 {
				h.by = "argocd-controller"
			}
			if seed%5 < 2 {
				h.gone = []string{"helm"}
			}
			obj := h.make(2 + h.random.IntN(5))
			if obj == nil {
				continue
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
		if entry.Operation != metav1.ManagedFieldsOperationApply || h.files[entry.Manager] == nil || slices.Contains(h.gone, entry.Manager) ||
			isReplaced(obj, entry) {
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
			return other.Manager == entry.Manager && other.Operation == metav1.ManagedFieldsOperationApply && !isReplaced(obj, other)
		})
}

// isReplaced reports whether a tool applied with patches after its last server-side apply. It then removes fields by the last-applied
// configuration again.
func isReplaced(obj *unstructured.Unstructured, entry metav1.ManagedFieldsEntry) bool {
	for _, tool := range managers.Tools() {
		if tool.Writer != managers.WriterOf(entry) {
			continue
		}
		return slices.ContainsFunc(obj.GetManagedFields(), func(other metav1.ManagedFieldsEntry) bool {
			return other.Operation == metav1.ManagedFieldsOperationUpdate && entry.Time.Before(other.Time) &&
				slices.Contains(tool.Earlier, managers.WriterOf(other)) && hasFields(other)
		})
	}
	return false
}

// hasFields reports whether an entry has more than the last-applied configuration.
func hasFields(entry metav1.ManagedFieldsEntry) bool {
	set, err := managers.Decode(entry)
	configuration := fieldpath.MakePathOrDie("metadata", "annotations", ownership.LastApplied)
	return err == nil && !set.Difference(fieldpath.NewSet(configuration, configuration[:len(configuration)-1])).Empty()
}
