package history_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/fieldhistory"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// boats is a kind with nullable fields, lists with keys, a set and a map.
const boats = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.com}
spec:
  group: example.com
  names: {plural: boats, singular: boat, kind: Boat}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              crew: {type: integer, nullable: true}
              sail: {type: string, nullable: true}
              speed: {type: number}
              tags: {type: object, additionalProperties: {type: string, nullable: true}}
              owners: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              plain: {type: array, items: {type: integer}}
              masts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name, deck]
                items:
                  type: object
                  required: [name, deck]
                  properties:
                    name: {type: string}
                    deck: {type: integer}
                    height: {type: integer, nullable: true}
                    sails: {type: array, items: {type: string}}
`

// model makes random objects of a kind.
type model struct {
	resource schema.GroupVersionResource
	object   func(r random) map[string]any
}

var models = map[string]model{
	"configmaps": {schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, func(r random) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": r.texts("a", "b.c", "d-e"), "binaryData": r.some("x", "aGk=")}
	}},
	"deployments": {schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, func(r random) map[string]any {
		labels := map[string]any{"app": "web"}
		return map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "spec": map[string]any{
			"replicas": int64(r.IntN(4)), "selector": map[string]any{"matchLabels": labels}, "paused": r.IntN(2) == 0,
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels, "annotations": r.texts("x", "z")},
				"spec":     map[string]any{"containers": r.containers(), "nodeSelector": r.some("disk", "fast")},
			},
		}}
	}},
	"boats": {schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "boats"}, func(r random) map[string]any {
		spec := map[string]any{}
		maybe := func(name string, v any) {
			if r.IntN(3) > 0 {
				spec[name] = v
			}
		}
		maybe("crew", []any{nil, int64(0), int64(7)}[r.IntN(3)])
		maybe("sail", []any{nil, "", "lateen"}[r.IntN(3)])
		maybe("speed", []any{int64(2), 2.5, 1e20}[r.IntN(3)])
		maybe("tags", r.texts("a", "b/c", ""))
		maybe("owners", r.pick("jason", "medea", "orpheus"))
		maybe("plain", []any{int64(r.IntN(2)), int64(r.IntN(2))})
		maybe("free", map[string]any{"x": []any{nil, r.word(), map[string]any{r.word(): nil}}[r.IntN(3)], r.word(): []any{r.word(), nil}})
		masts := []any{}
		for _, name := range r.pick("main", "fore", "mizzen") {
			masts = append(masts, map[string]any{
				"name": name, "deck": int64(r.IntN(2)), "height": []any{nil, int64(r.IntN(3))}[r.IntN(2)], "sails": r.pick("jib", "royal"),
			})
		}
		maybe("masts", masts)
		return map[string]any{"apiVersion": "example.com/v1", "kind": "Boat", "spec": spec}
	}},
}

type random struct{ *rand.Rand }

func (r random) word() string {
	return []string{"one", "two", "a b", "", "ä…", strings.Repeat("long", 30)}[r.IntN(6)]
}

func (r random) texts(names ...string) map[string]any {
	out := map[string]any{}
	for _, name := range names {
		if r.IntN(2) == 0 {
			out[name] = r.word()
		}
	}
	return out
}

func (r random) some(name string, v any) map[string]any {
	if r.IntN(2) == 0 {
		return nil
	}
	return map[string]any{name: v}
}

// pick returns some of the names in a random order.
func (r random) pick(names ...string) []any {
	out := []any{}
	for _, i := range r.Perm(len(names))[:r.IntN(len(names)+1)] {
		out = append(out, names[i])
	}
	return out
}

func (r random) containers() []any {
	out := []any{}
	for _, name := range append(r.pick("log", "proxy"), "web") {
		ports := []any{}
		for _, protocol := range r.pick("TCP", "UDP") {
			ports = append(ports, map[string]any{"containerPort": int64(80 + r.IntN(2)), "protocol": protocol})
		}
		env := []any{}
		for _, variable := range r.pick("A", "B", "C") {
			env = append(env, map[string]any{"name": variable, "value": r.word()})
		}
		out = append(out, map[string]any{"name": name, "image": "image:" + strconv.Itoa(r.IntN(3)), "args": r.pick("-x", "-y"), "ports": ports, "env": env})
	}
	return out
}

// start starts a server that records the changes in the namespace.
func start(t testing.TB) (*servertest.Server, client) {
	t.Helper()
	server := servertest.Start(t, apiserver.Config{})
	labelled := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{fieldhistory.Label: fieldhistory.LabelFields}}}
	if _, err := server.Client(t).CoreV1().Namespaces().Create(t.Context(), labelled, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return server, client{kubeconfig: server.Kubeconfig()}
}

// TestUndoIsExact makes random writes, by several kinds of requests, and takes the object back to each of its states, in a random order. It
// then equals what was stored, and the entries of the history stay.
func TestUndoIsExact(t *testing.T) {
	t.Parallel()
	server, c := start(t)
	objects := dynamic.NewForConfigOrDie(server.Config(t))
	crds := objects.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := crds.Create(t.Context(), yamltest.Object(t, boats), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the kind is served", func() error {
		_, err := objects.Resource(models["boats"].resource).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
		return err
	})
	for name, m := range models {
		for seed := range uint64(1) {
			t.Run(fmt.Sprint(name, seed), func(t *testing.T) {
				h := &walked{client: c, random: random{rand.New(rand.NewPCG(seed, 7))}, model: m, name: fmt.Sprint("o", seed)}
				h.objects = objects.Resource(m.resource).Namespace(namespace)
				h.states = map[int64]map[string]any{}
				for range 8 {
					h.write(t)
				}
				numbers := h.numbers()
				for _, i := range h.Perm(len(numbers)) {
					h.goTo(t, numbers[i])
				}
				h.goTo(t, numbers[0]) // states that an undo has made count too
				for _, number := range h.numbers()[len(numbers):] {
					h.goTo(t, number)
				}
			})
		}
	}
}

// walked is an object with its states by the number of their entry.
type walked struct {
	client
	random
	model
	name    string
	objects dynamic.ResourceInterface
	states  map[int64]map[string]any
	entries []fieldhistory.Entry
}

func (h *walked) argument() string {
	return h.resource.Resource + "/" + h.name
}

func (h *walked) numbers() []int64 {
	var numbers []int64
	for number := range h.states {
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	return numbers
}

// write makes one random write.
func (h *walked) write(t *testing.T) {
	t.Helper()
	obj := &unstructured.Unstructured{Object: h.object(h.random)}
	obj.SetName(h.name)
	metadata, _ := obj.Object["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations"} {
		if texts := h.texts("one", "example.com/two"); h.IntN(2) == 0 {
			for name := range texts {
				texts[name] = "x" + strconv.Itoa(h.IntN(2))
			}
			metadata[field] = texts
		}
	}
	live, err := h.objects.Get(t.Context(), h.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = h.objects.Create(t.Context(), obj, metav1.CreateOptions{})
	case err != nil:
	case h.IntN(3) == 0:
		text, encodeErr := json.Marshal(obj.Object)
		if encodeErr != nil {
			t.Fatal(encodeErr)
		}
		_, err = h.objects.Patch(t.Context(), h.name, "application/merge-patch+json", text, metav1.PatchOptions{})
	case h.IntN(2) == 0:
		_, err = h.objects.Apply(t.Context(), h.name, obj, metav1.ApplyOptions{FieldManager: "ci", Force: true})
	default:
		obj.SetResourceVersion(live.GetResourceVersion())
		_, err = h.objects.Update(t.Context(), obj, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	h.record(t)
}

// record remembers the state of the object, and checks that the entries that the history has had are the same.
func (h *walked) record(t *testing.T) {
	t.Helper()
	live, err := h.objects.Get(t.Context(), h.name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list := h.history(t, h.argument())
	if diff := cmp.Diff(h.entries, list.Items[:len(h.entries)]); len(h.entries) > 0 && diff != "" {
		t.Errorf("the entries (-before +now):\n%s", diff)
	}
	h.entries = list.Items
	h.states[list.Items[len(list.Items)-1].Number] = fieldhistory.Content(live.Object)
}

// goTo takes the object back to a state.
func (h *walked) goTo(t *testing.T, number int64) {
	t.Helper()
	shown := h.undo(t, h.argument(), "--to", fmt.Sprint(number))
	if shown.err != nil {
		t.Fatalf("to %d: %v", number, shown.err)
	}
	if live, err := h.objects.Get(t.Context(), h.name, metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	} else if diff := cmp.Diff(h.states[h.entries[len(h.entries)-1].Number], fieldhistory.Content(live.Object)); diff != "" {
		t.Fatalf("to %d without --yes changes the object:\n%s", number, diff)
	}
	if r := h.undo(t, h.argument(), "--to", fmt.Sprint(number), "--yes"); r.err != nil {
		t.Fatalf("to %d: %v", number, r.err)
	}
	live, err := h.objects.Get(t.Context(), h.name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h.states[number], fieldhistory.Content(live.Object)); diff != "" {
		t.Errorf("to %d (-then +now):\n%s", number, diff)
	}
	h.record(t)
}
