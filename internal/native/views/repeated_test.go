package views_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

// repeatedList is a list that may have several items with the same keys.
type repeatedList struct {
	kind schema.GroupVersionKind
	// file is an object, with %s in place of the items. key is the key of the items.
	file, key string
	// fields are the fields of an item, with their values as JSON.
	fields map[string][]string
}

func repeatedLists() map[string]repeatedList {
	template, service := corev1.SchemeGroupVersion.WithKind("PodTemplate"), corev1.SchemeGroupVersion.WithKind("Service")
	pod := func(fields string) string {
		return `{apiVersion: v1, kind: PodTemplate, metadata: {name: p}, template: {spec: {` + fields + `}}}`
	}
	names, numbers, flags := []string{`"a"`, `"b"`}, []string{"1", "2"}, []string{"true", "false", "null"}
	return map[string]repeatedList{
		"owner references": {
			template, "{apiVersion: v1, kind: PodTemplate, metadata: {name: p, ownerReferences: %s}}", "uid",
			map[string][]string{"uid": {`"u"`}, "name": names, "controller": flags, "blockOwnerDeletion": flags},
		},
		"environment": {template, pod("containers: [{name: a, env: %s}]"), "name", map[string][]string{
			"name": {`"A"`}, "value": {`""`, `"1"`, `"2"`, "null"},
			"valueFrom": {`{"fieldRef":{"fieldPath":"a"}}`, `{"fieldRef":{"fieldPath":"b"}}`, `{"secretKeyRef":{"key":"a"}}`, "null", "{}"},
		}},
		"ports of a container": {template, pod("containers: [{name: a, ports: %s}]"), "containerPort", map[string][]string{
			"containerPort": numbers, "protocol": {`"TCP"`, `"UDP"`, "null"}, "name": {`"a"`, `""`, "null"}, "hostPort": {"0", "1", "null"},
		}},
		"host aliases": {template, pod("hostAliases: %s"), "ip", map[string][]string{
			"ip": {`"10.0.0.1"`}, "hostnames": {"[]", `["a"]`, `["b"]`, "null"},
		}},
		"spread constraints": {template, pod("topologySpreadConstraints: %s"), "topologyKey", map[string][]string{
			"topologyKey": {`"zone"`}, "maxSkew": numbers, "whenUnsatisfiable": {`"DoNotSchedule"`, `"ScheduleAnyway"`},
			"labelSelector":  {`{"matchLabels":{"a":"b"}}`, `{"matchLabels":{"a":"c","d":"e"}}`, `{"matchLabels":{"a":null}}`, "{}", "null"},
			"matchLabelKeys": {"[]", `["a"]`, "null"}, "minDomains": {"0", "1", "null"},
		}},
		"pull secrets": {template, pod("imagePullSecrets: %s"), "name", map[string][]string{"name": {`"a"`, `"b"`, `""`}}},
		"secrets of a service account": {
			corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
			`{apiVersion: v1, kind: ServiceAccount, metadata: {name: s}, secrets: %s}`, "name",
			map[string][]string{"name": {`"a"`}, "kind": {`"Secret"`, `""`, "null"}, "namespace": {`"a"`, `"b"`, "null"}},
		},
		"ports of a service": {
			service, `{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: %s}}`, "port",
			map[string][]string{
				"port": {"53"}, "protocol": {`"TCP"`, `"UDP"`}, "name": {`"a"`, `""`},
				"targetPort": {"53", "54", `"dns"`, "0", "null"}, "appProtocol": {`"http"`, `""`, "null"},
			},
		},
	}
}

// item returns a random item.
func (l repeatedList) item(random *rand.Rand) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(l.fields)) {
		texts := l.fields[name]
		if text := texts[random.IntN(len(texts))]; name == l.key || random.IntN(3) > 0 {
			out[name] = json.RawMessage(text)
		}
	}
	return out
}

// TestSoakRepeatedItems compares the warnings about generated changes to items with the same keys,
// and those of the next apply, with the changes that the next apply makes. kubectl merges such
// items in a way of its own, and the server removes some of them.
func TestSoakRepeatedItems(t *testing.T) {
	fixtures, seeds := newFixtures(t), uint64(40)
	if os.Getenv("HOLDFAST_SOAK") != "" {
		seeds = 400
	}
	for name, list := range repeatedLists() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reverted, kept := 0, 0
			for seed := range seeds {
				switch list.run(t, fixtures.newSimulation(t, list.kind), seed) {
				case "reverted":
					reverted++
				case "kept":
					kept++
				}
			}
			if reverted == 0 || kept == 0 {
				t.Errorf("%d changes were reverted, %d were kept", reverted, kept)
			}
		})
	}
}

// run applies a list twice, changes it, and applies it again.
func (l repeatedList) run(t *testing.T, w *simulation, seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 1))
	items := []map[string]json.RawMessage{l.item(random), l.item(random), l.item(random)}[:2+random.IntN(2)]
	file := fmt.Sprintf(l.file, encode(t, items))
	for range 3 {
		if _, err := w.tryApply(byApply, file); err != nil {
			return "refused"
		}
	}
	before := w.live().DeepCopy()
	if apply(file)(w); len(w.typ.Changed(before.Object, w.live().Object, 1)) > 0 {
		// Every apply of the file changes the object.
		return "unstable"
	}
	switch at := random.IntN(len(items)); random.IntN(4) {
	case 0:
		items = slices.Delete(items, at, at+1)
	case 1:
		items = slices.Insert(items, at, l.item(random))
	case 2:
		slices.Reverse(items)
	default:
		items[at] = l.item(random)
	}
	changed := fmt.Sprintf(l.file, encode(t, items))
	updated := w.normalize(w.annotate(yamltest.Map(t, changed), before.GetAnnotations()[ownership.LastApplied]))
	writer := ownership.ParseWriter(ownership.Request{Command: "kubectl patch", FieldManager: "kubectl-patch", User: "jane"})
	verdict := w.judge(writer, before, &unstructured.Unstructured{Object: updated})
	w.check(w.fields.Update(&unstructured.Unstructured{Object: updated}, "kubectl-patch"))
	if _, err := w.tryApply(byApply, file); err != nil {
		return "refused"
	}
	written := pathsOf(w.typ.Changed(before.Object, updated, 100))
	truth := topmost(pathsOf(w.typ.Changed(updated, w.live().Object, 100)))
	for name, findings := range map[string][]ownership.Finding{"the write": verdict.Findings, "apply": w.findings} {
		var said []string
		for _, f := range findings {
			said = append(said, f.Path.String())
		}
		isMissing := func(path string) bool { return overlaps(written, path) && !overlaps(said, path) }
		isFalse := func(path string) bool { return !overlaps(truth, path) }
		if slices.ContainsFunc(truth, isMissing) || slices.ContainsFunc(said, isFalse) {
			t.Errorf("seed %d: file %s, changed to %s: %s says %q, apply changes %q", seed, file, changed, name, said, truth)
		}
	}
	switch {
	case len(written) == 0:
		return "unchanged"
	case len(truth) > 0:
		return "reverted"
	}
	return "kept"
}

func pathsOf(paths []ownership.Path) []string {
	var out []string
	for _, path := range paths {
		out = append(out, path.String())
	}
	return out
}

// topmost returns the fields without those that are a part of another. If apply removes an item,
// the items after it with the same keys seem to change.
func topmost(fields []string) []string {
	isPart := func(f string) bool {
		return slices.ContainsFunc(fields, func(other string) bool { return f != other && strings.HasPrefix(f, other+".") })
	}
	return slices.DeleteFunc(slices.Clone(fields), isPart)
}

// overlaps reports whether one of the fields is the field at path, a part of it, or has it as
// a part.
func overlaps(fields []string, path string) bool {
	return slices.ContainsFunc(fields, func(f string) bool {
		return strings.HasPrefix(f+".", path+".") || strings.HasPrefix(path+".", f+".") ||
			strings.HasPrefix(f, path+"[") || strings.HasPrefix(path, f+"[")
	})
}

// withoutDuplicates returns owner references without those that are equal to an earlier one,
// as the server stores them.
func withoutDuplicates(refs []metav1.OwnerReference) []metav1.OwnerReference {
	var out []metav1.OwnerReference
	for _, ref := range refs {
		if !slices.ContainsFunc(out, func(other metav1.OwnerReference) bool { return other.String() == ref.String() }) {
			out = append(out, ref)
		}
	}
	return out
}
