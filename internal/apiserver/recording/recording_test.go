package recording_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/fieldhistory"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {holdfast.dev/history: fields}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
`

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.recording.example.com}
spec:
  group: recording.example.com
  names: {plural: boats, singular: boat, kind: Boat}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: &schema
      openAPIV3Schema:
        type: object
        properties:
          status: {type: object, properties: {at: {type: string}}}
          spec:
            type: object
            properties:
              sails: {type: integer, default: 1}
              weight: {type: number}
              name: {type: string}
              crew:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, role: {type: string}}}
  - {name: v2, served: true, storage: false, subresources: {status: {}}, schema: *schema}
`

// Each write of an object that is on adds an entry, if it changes something that history has.
func TestRecord(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	f.create(definitions, definition)
	f.awaitResource(boats)
	was := states{}

	was.add(f.create(deployments, web))
	was.add(f.patch(deployments, "web", `{"spec":{"replicas":2}}`))
	was.add(f.patch(deployments, "web", `{"spec":{"replicas":2}}`))
	was.add(f.patch(deployments, "web", `{"status":{"replicas":2}}`, "status"))
	was.add(f.patch(deployments, "web", `{"metadata":{"annotations":{"a.b/c":"d"}}}`))
	if _, err := f.Dynamic.Resource(deployments).Namespace("default").Patch(t.Context(), "web", types.MergePatchType,
		[]byte(`{"spec":{"replicas":9}}`), metav1.PatchOptions{DryRun: []string{"All"}}); err != nil {
		t.Fatal(err)
	}
	if err := f.Dynamic.Resource(deployments).Namespace("default").Delete(t.Context(), "web", metav1.DeleteOptions{DryRun: []string{"All"}}); err != nil {
		t.Fatal(err)
	}
	scaled, err := f.Dynamic.Resource(deployments).Namespace("default").Apply(t.Context(), "web", &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": "side", "image": "side:1"}},
		}}},
	}}, metav1.ApplyOptions{FieldManager: "applier"})
	if err != nil {
		t.Fatal(err)
	}
	was.add(scaled)
	list := f.history(deployments, "web")
	want := `1 create
2 update .spec.replicas: 1 -> 2
3 update .metadata.annotations: none -> {"a.b/c":"d"}
4 update .spec.template.spec.containers[name="side"]: none -> {"image":"side:1","imagePullPolicy":"IfNotPresent","name":"side","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}`
	if diff := cmp.Diff(want, shown(list)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if err := was.check(list, scaled.Object); err != nil {
		t.Error(err)
	}
	last := list.Items[3]
	if last.User != "holdfast:admin" && last.User == "" || last.Manager != "applier" || last.Command != "applier" || last.APIVersion != "apps/v1" ||
		last.ResourceVersion != scaled.GetResourceVersion() || list.ResourceVersion != last.ResourceVersion || last.Time.IsZero() {
		t.Errorf("the entry is %+v", last)
	}
	if !list.Recording || list.UID != string(scaled.GetUID()) || list.Deleted != nil || len(list.OtherUIDs) > 0 {
		t.Errorf("the list is %+v", list)
	}

	// Entries of a custom resource have the storage version.
	boat := `{apiVersion: recording.example.com/v2, kind: Boat, metadata: {name: boat, labels: {holdfast.dev/history: fields}}, spec: {weight: 2.5}}`
	v2 := boats
	v2.Version = "v2"
	was.add(f.create(v2, boat))
	was.add(f.patch(v2, "boat", `{"spec":{"crew":[{"name":"a"},{"name":"b"}],"weight":2}}`))
	was.add(f.patch(boats, "boat", `{"status":{"at":"sea"}}`, "status"))
	current := f.patch(boats, "boat", `{"spec":{"crew":[{"name":"a","role":"cook"},{"name":"c"}]}}`)
	was.add(current)
	list = f.history(v2, "boat")
	want = `1 create
2 update .spec.crew: none -> [{"name":"a"},{"name":"b"}] .spec.weight: 2.5 -> 2
3 update .spec.crew[name="b"]: {"name":"b"} -> none .spec.crew[name="a"].role: none -> "cook" .spec.crew[name="c"]: none -> {"name":"c"}`
	if diff := cmp.Diff(want, shown(list)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	for _, entry := range list.Items {
		if entry.APIVersion != "recording.example.com/v1" {
			t.Errorf("the entry %d has the version %s", entry.Number, entry.APIVersion)
		}
	}
	if err := was.check(list, current.Object); err != nil {
		t.Error(err)
	}

	// The entries are gone with their objects.
	if got := len(f.keys()); got != 7 {
		t.Errorf("%d entries, want 7: %s", got, f.keys())
	}
	f.remove(boats, "boat")
	f.remove(deployments, "web")
	if got := f.keys(); len(got) > 0 {
		t.Errorf("entries of deleted objects: %s", got)
	}
	if _, _, err := read(t.Context(), f.Config, pathOf(deployments, "web"), ""); !apierrors.IsNotFound(err) {
		t.Errorf("the history of an object that is gone: %v", err)
	}
}

// A definition that has another schema prunes a field of a stored object. The next write says that the object has changed without an entry.
func TestPrunedField(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	f.create(definitions, definition)
	f.awaitResource(boats)
	f.create(boats, `{apiVersion: recording.example.com/v1, kind: Boat, metadata: {name: boat, labels: {holdfast.dev/history: fields}}, spec: {name: argo}}`)
	f.patch(boats, "boat", `{"spec":{"sails":2}}`)
	changed := yamltest.Object(t, strings.Replace(definition, "              name: {type: string}\n", "", 1))
	// The server may write a condition of the definition at the same time.
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live, err := f.Dynamic.Resource(definitions).Get(t.Context(), changed.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		changed.SetResourceVersion(live.GetResourceVersion())
		_, err = f.Dynamic.Resource(definitions).Update(t.Context(), changed, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var current *unstructured.Unstructured
	sails := 2
	waittest.Until(t, "the field is pruned", func() bool {
		sails++
		current = f.patch(boats, "boat", fmt.Sprintf(`{"spec":{"sails":%d}}`, sails))
		_, has, _ := unstructured.NestedString(current.Object, "spec", "name")
		return !has
	})
	list := f.history(boats, "boat")
	if want := fmt.Sprintf("update truncated\n%d update .spec.sails: %d -> %d", len(list.Items), sails-1, sails); !strings.HasSuffix(shown(list), want) ||
		strings.Count(shown(list), "truncated") != 1 {
		t.Errorf("history does not end with %q:\n%s", want, shown(list))
	}
	if got := strconv.FormatUint(fieldhistory.Fingerprint(fieldhistory.Content(current.Object)), 16); got != list.Fingerprint {
		t.Errorf("the fingerprint is %s, and that of the history %s", got, list.Fingerprint)
	}
}

// The label of an object or of its namespace says whether its writes are recorded. An entry says so if some were not.
func TestLabels(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	const plain = `{apiVersion: v1, kind: ConfigMap, metadata: {name: %s%s}, data: {a: "0"}}`
	make := func(name, labels string) {
		f.create(configMaps, strings.Replace(strings.Replace(plain, "%s", name, 1), "%s", labels, 1))
	}
	expect := func(name, want string, recording bool) {
		t.Helper()
		list := f.history(configMaps, name)
		if diff := cmp.Diff(want, shown(list)); diff != "" || list.Recording != recording {
			t.Errorf("recording %t, history of %s (-want +got):\n%s", list.Recording, name, diff)
		}
	}
	make("own", "")
	f.patch(configMaps, "own", `{"data":{"a":"1"}}`)
	expect("own", "", false)
	f.patch(configMaps, "own", `{"metadata":{"labels":{"holdfast.dev/history":"fields"}},"data":{"a":"2"}}`)
	want := `1 update .data.a: "1" -> "2" .metadata.labels: none -> {"holdfast.dev/history":"fields"}`
	expect("own", want, true)
	f.patch(configMaps, "own", `{"metadata":{"labels":{"holdfast.dev/history":null}}}`)
	want += "\n" + `2 update .metadata.labels: {"holdfast.dev/history":"fields"} -> none`
	expect("own", want, false)
	f.patch(configMaps, "own", `{"data":{"a":"3"}}`)
	expect("own", want, false)
	f.patch(configMaps, "own", `{"metadata":{"labels":{"holdfast.dev/history":"fields"}}}`)
	want += "\n3 update truncated\n" + `4 update .metadata.labels: none -> {"holdfast.dev/history":"fields"}`
	expect("own", want, true)

	make("of-namespace", "")
	make("never", `, labels: {holdfast.dev/history: none}`)
	f.patch(namespaces, "default", `{"metadata":{"labels":{"holdfast.dev/history":"fields"}}}`)
	for _, name := range []string{"of-namespace", "never"} {
		f.patch(configMaps, name, `{"data":{"a":"1"}}`)
	}
	expect("of-namespace", `1 update .data.a: "0" -> "1"`, true)
	expect("never", "", false)
	events := configMaps
	events.Resource = "events"
	f.create(events, `{apiVersion: v1, kind: Event, metadata: {name: seen}, involvedObject: {namespace: default}, reason: Seen, type: Normal}`)
	for _, group := range []string{"", "events.k8s.io"} {
		events.Group = group
		if list := f.history(events, "seen"); list.Recording || len(list.Items) > 0 {
			t.Errorf("the history of an Event of the group %q: %+v", group, list)
		}
	}
	f.patch(namespaces, "default", `{"metadata":{"labels":{"holdfast.dev/history":null}}}`)
	f.patch(configMaps, "of-namespace", `{"data":{"a":"2"}}`)
	f.patch(configMaps, "of-namespace", `{"data":{"a":"1"}}`)
	expect("of-namespace", `1 update .data.a: "0" -> "1"`, false)
	f.patch(namespaces, "default", `{"metadata":{"labels":{"holdfast.dev/history":"fields"}}}`)
	// The object is as it was after the last entry, so history has no gap.
	f.patch(configMaps, "of-namespace", `{"data":{"a":"3"}}`)
	expect("of-namespace", "1 update .data.a: \"0\" -> \"1\"\n2 update .data.a: \"1\" -> \"3\"", true)
	f.patch(namespaces, "default", `{"metadata":{"labels":{"holdfast.dev/history":null}}}`)
	// An object whose writes are not recorded any more still takes its history with it.
	for _, name := range []string{"of-namespace", "own", "never"} {
		f.remove(configMaps, name)
	}
	for _, key := range f.keys() {
		if strings.Contains(key, "/of-namespace/") || strings.Contains(key, "/own/") {
			t.Errorf("%s is left", key)
		}
	}
}

// History has the values of Secrets as HMACs only, and a user who may not get an object sees nothing of its history.
func TestSecrets(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	was := states{}
	const password, other = "cGFzc3dvcmQtb25l", "cGFzc3dvcmQtdHdv"
	was.add(f.create(secrets, `
apiVersion: v1
kind: Secret
metadata: {name: token, labels: {holdfast.dev/history: fields}, annotations: {note: "has cGFzc3dvcmQtb25l"}}
data: {password: cGFzc3dvcmQtb25l}
`))
	was.add(f.patch(secrets, "token", `{"data":{"password":"cGFzc3dvcmQtdHdv"},"metadata":{"annotations":{"note":"has cGFzc3dvcmQtdHdv"}}}`))
	current := f.patch(secrets, "token", `{"stringData":{"more":"plain text that is secret"},"metadata":{"labels":{"seen":"yes"}}}`)
	was.add(current)
	list, text, err := read(t.Context(), f.Config, pathOf(secrets, "token"), "")
	if err != nil {
		t.Fatal(err)
	}
	want := `1 create
2 update .data.password: hmac 32 -> hmac 32 .metadata.annotations.note: hmac 32 -> hmac 32
3 update .data.more: none -> hmac 64 .metadata.labels.seen: none -> "yes"`
	if diff := cmp.Diff(want, shown(list)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if err := was.check(list, current.Object); err != nil {
		t.Error(err)
	}
	all := string(text)
	stored, err := f.etcd.Get(t.Context(), "/registry/_holdfast/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range stored.Kvs {
		all += string(pair.Value)
	}
	for _, value := range []string{password, other, "password-one", "password-two", "plain text", "cGxhaW4gdGV4d"} {
		if strings.Contains(all, value) {
			t.Errorf("%s is in the history", value)
		}
	}
	if _, text, err := read(t.Context(), f.server.As(t, "nobody"), pathOf(secrets, "token"), ""); !apierrors.IsForbidden(err) || len(text) > 0 && strings.Contains(string(text), "changes") {
		t.Errorf("the history for a user who may not get the object: %s, %v", text, err)
	}
}

// Two servers on one etcd give each number once.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	second := startOn(t, apiserver.Config{Etcd: f.store})
	was := states{}
	was.add(f.create(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: shared, labels: {holdfast.dev/history: fields}}}`))
	const writes = 25
	written := make(chan *unstructured.Unstructured)
	for i, server := range []fixture{f, second, f, second} {
		go func() {
			for n := range writes {
				patch := `{"data":{"` + string(rune('a'+i)) + `":"` + strings.Repeat("x", n+1) + `"}}`
				// The result is nil if the write fails.
				result, _ := server.Dynamic.Resource(configMaps).Namespace("default").Patch(t.Context(), "shared", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
				written <- result
			}
		}()
	}
	for range 4 * writes {
		result := <-written
		if result == nil {
			t.Error("a write failed")
			continue
		}
		was.add(result)
	}
	current, err := f.Dynamic.Resource(configMaps).Namespace("default").Get(t.Context(), "shared", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list := f.history(configMaps, "shared")
	if err := was.check(list, current.Object); err != nil {
		t.Error(err)
	}
	if last := list.Items[len(list.Items)-1]; last.Number != 4*writes+1 || len(list.Items) > 100 {
		t.Errorf("%d entries, the last has the number %d", len(list.Items), last.Number)
	}
	if strings.Contains(shown(list), "truncated") {
		t.Errorf("history has a gap:\n%s", shown(list))
	}
}

// The record of an object that is replaced ends, and that of the new object begins with the replacement. A new object that is not on has
// no record.
func TestReplacement(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	f.create(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: swapped, labels: {holdfast.dev/history: fields}}, data: {a: "0"}}`)
	old := f.patch(configMaps, "swapped", `{"data":{"a":"1"}}`)
	if got := len(f.keys()); got != 2 {
		t.Fatalf("%d entries of the old object", got)
	}
	swapped := f.replace(old)
	list := f.history(configMaps, "swapped")
	if diff := cmp.Diff("1 replace", shown(list)); diff != "" || list.UID != string(swapped.GetUID()) || len(f.keys()) != 1 {
		t.Errorf("%d entries, history of %s (-want +got):\n%s", len(f.keys()), list.UID, diff)
	}
	swapped.SetLabels(nil)
	f.replace(swapped)
	if got := f.keys(); len(got) > 0 {
		t.Errorf("entries of an object that was replaced: %s", got)
	}
}
