package validity_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// fixture is a server.
type fixture struct {
	*testing.T
	server *servertest.Server
	client dynamic.Interface
}

func start(t *testing.T, settings apiserver.Config) *fixture {
	t.Helper()
	return on(t, servertest.Start(t, settings))
}

func on(t *testing.T, server *servertest.Server) *fixture {
	t.Helper()
	return &fixture{t, server, dynamic.NewForConfigOrDie(server.Config(t))}
}

// define returns a definition with the given keywords of the schema of spec.
func define(plural, spec string) string {
	return fmt.Sprintf("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %s.valid.example.com}, spec: {group: valid.example.com, "+
		"scope: Namespaced, names: {plural: %s, kind: %s}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: "+
		"{type: object, properties: {spec: {type: object, %s}}}}}]}}", plural, plural, strings.ToUpper(plural[:1])+plural[1:], spec)
}

const (
	wide   = "properties: {a: {type: string}, m: {type: object, additionalProperties: {type: string}}}"
	narrow = "required: [b], properties: {a: {type: string, enum: [x]}, b: {type: string}, m: {type: object, additionalProperties: {type: string, maxLength: 1}}}"
)

func (f *fixture) define(plural, spec string) *unstructured.Unstructured {
	f.Helper()
	crd, err := f.client.Resource(definitions).Create(f.Context(), yamltest.Object(f.T, define(plural, spec)), metav1.CreateOptions{})
	if err != nil {
		f.Fatal(err)
	}
	return crd
}

// redefine replaces the schema of a definition, and returns the answer.
func (f *fixture) redefine(plural, spec string) *unstructured.Unstructured {
	f.Helper()
	var answer *unstructured.Unstructured
	waittest.Until(f.T, "the definition is replaced", func() (err error) {
		next := yamltest.Object(f.T, define(plural, spec))
		next.SetResourceVersion(f.get(plural).GetResourceVersion())
		answer, err = f.client.Resource(definitions).Update(f.Context(), next, metav1.UpdateOptions{})
		return err
	})
	return answer
}

func (f *fixture) get(plural string) *unstructured.Unstructured {
	f.Helper()
	crd, err := f.client.Resource(definitions).Get(f.Context(), plural+".valid.example.com", metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	return crd
}

func (f *fixture) objects(plural string) dynamic.ResourceInterface {
	return f.client.Resource(schema.GroupVersionResource{Group: "valid.example.com", Version: "v1", Resource: plural}).Namespace("default")
}

// create creates an object with a spec.
func (f *fixture) create(plural, name, spec string) {
	f.Helper()
	object := yamltest.Object(f.T, fmt.Sprintf("{apiVersion: valid.example.com/v1, kind: %s, metadata: {name: %s}, spec: %s}",
		strings.ToUpper(plural[:1])+plural[1:], name, spec))
	if _, err := f.objects(plural).Create(f.Context(), object, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
}

// condition returns the condition of a definition as a text: its status, its reason and its message. It is empty if there is none.
func condition(crd *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, item := range conditions {
		if c, ok := item.(map[string]any); ok && c["type"] == "StoredObjectsValid" {
			return fmt.Sprintf("%v %v: %v", c["status"], c["reason"], c["message"])
		}
	}
	return ""
}

const (
	valid     = "True AllValid: the server would accept all stored objects if they were written again"
	computing = "Unknown Computing: "
)

// await waits until the condition of a definition is the wanted one.
func (f *fixture) await(plural, want string) {
	f.Helper()
	waittest.Until(f.T, plural+" has the condition "+want, func() error {
		if got := condition(f.get(plural)); got != want {
			return fmt.Errorf("it has %q", got)
		}
		return nil
	})
}

// metric returns the value of a definition, empty if it has none.
func (f *fixture) metric(plural string) string {
	f.Helper()
	text, err := f.server.Client(f.T).Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, fmt.Sprintf("holdfast_definition_invalid_objects{definition=%q} ", plural+".valid.example.com")); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func (f *fixture) awaitMetric(plural, want string) {
	f.Helper()
	waittest.Until(f.T, "the metric of "+plural+" is "+want, func() bool { return f.metric(plural) == want })
}

// removeCondition removes the condition, as a restored backup of an earlier release does not have it.
func (f *fixture) removeCondition(plural string) {
	f.Helper()
	waittest.Until(f.T, "the condition is removed", func() error {
		crd := f.get(plural)
		conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
		var kept []any
		for _, item := range conditions {
			if c, ok := item.(map[string]any); ok && c["type"] != "StoredObjectsValid" {
				kept = append(kept, c)
			}
		}
		if err := unstructured.SetNestedSlice(crd.Object, kept, "status", "conditions"); err != nil {
			return err
		}
		_, err := f.client.Resource(definitions).UpdateStatus(f.Context(), crd, metav1.UpdateOptions{})
		return err
	})
}

// The condition comes with the first object, on a server that is not the leader too. Further writes of objects do not change the
// definition, nor do a dry run and a write that fails.
func TestFirstObject(t *testing.T) {
	t.Parallel()
	f := on(t, servertest.StartLedBy(t, "another", apiserver.Config{}))
	f.define("boats", wide)
	f.define("others", wide)
	object := yamltest.Object(t, "{apiVersion: valid.example.com/v1, kind: Boats, metadata: {name: a}, spec: {a: x}}")
	if _, err := f.objects("boats").Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{"All"}}); err != nil {
		t.Fatal(err)
	}
	f.create("others", "a", "{}")
	f.await("others", valid)
	// The server handles the definitions in the order of their objects.
	if got := condition(f.get("boats")); got != "" {
		t.Errorf("without an object: %s", got)
	}
	if got := f.metric("boats"); got != "" {
		t.Errorf("without an object, the metric is %s", got)
	}
	if _, err := f.objects("boats").Apply(t.Context(), "a", object, metav1.ApplyOptions{FieldManager: "test"}); err != nil {
		t.Fatal(err)
	}
	f.await("boats", valid)
	f.awaitMetric("boats", "0")
	before := f.get("boats").GetResourceVersion()
	for i := range 5 {
		f.create("boats", fmt.Sprint("b", i), "{a: x}")
	}
	f.define("last", wide)
	f.create("last", "a", "{}")
	f.await("last", valid)
	if after := f.get("boats").GetResourceVersion(); after != before {
		t.Errorf("writes of objects changed the definition from revision %s to %s", before, after)
	}
}

// A change that makes objects invalid sets the condition to Unknown at once. Then it has the numbers and the causes, and neither names nor
// values. It is True again when the objects are changed, and when the definition is.
func TestInvalidObjects(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{RecheckInterval: 200 * time.Millisecond})
	f.define("boats", wide)
	f.create("boats", "confidential", "{a: sailor, m: {private.example.com/key: gold}}")
	f.create("boats", "classified", "{a: sailor}")
	f.create("boats", "good", "{a: x}")
	f.await("boats", valid)
	patch := func(name, spec string) {
		t.Helper()
		if _, err := f.objects("boats").Patch(t.Context(), name, types.MergePatchType, yamltest.JSON(t, "{spec: "+spec+"}"), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := condition(f.redefine("boats", narrow)); !strings.HasPrefix(got, computing) {
		t.Errorf("the answer to the change has %q", got)
	}
	f.await("boats", "False Invalid: 3 of 3 stored objects would be refused if written again: "+
		"spec.b: is required (3); spec.a: is not one of the allowed values (2); spec.m.*: is too long (1)")
	f.awaitMetric("boats", "3")
	text := fmt.Sprint(f.get("boats").Object["status"])
	for _, secret := range []string{"confidential", "classified", "sailor", "private", "gold"} {
		if strings.Contains(text, secret) {
			t.Errorf("the status has %s: %s", secret, text)
		}
	}

	patch("good", "{b: z}")
	patch("confidential", "{a: x, b: z, m: null}")
	f.await("boats", "False Invalid: 1 of 3 stored objects would be refused if written again: "+
		"spec.a: is not one of the allowed values (1); spec.b: is required (1)")
	f.awaitMetric("boats", "1")
	patch("classified", "{a: x, b: z}")
	f.await("boats", valid)
	f.awaitMetric("boats", "0")

	f.redefine("boats", "required: [c], "+wide[:len(wide)-1]+", c: {type: string}}")
	f.await("boats", "False Invalid: 3 of 3 stored objects would be refused if written again: spec.c: is required (3)")
	if got := condition(f.redefine("boats", wide)); !strings.HasPrefix(got, computing) {
		t.Errorf("the answer to the change back has %q", got)
	}
	f.await("boats", valid)
	if stays := condition(f.redefine("boats", strings.Replace(wide, "a: {type: string}", "a: {type: string, maxLength: 100, description: x}", 1))); !strings.HasPrefix(stays, computing) {
		t.Errorf("the answer to a new limit has %q", stays)
	}
	f.await("boats", valid)
	if stays := condition(f.redefine("boats", wide)); stays != valid {
		t.Errorf("a limit that is gone changes the condition to %q", stays)
	}

	// A stored object still has a value of a field that was removed.
	f.redefine("boats", wide[:len(wide)-1]+", c: {type: string}}")
	f.await("boats", valid)
	patch("good", "{c: text}")
	f.redefine("boats", wide)
	f.await("boats", valid)
	f.redefine("boats", wide[:len(wide)-1]+", c: {type: integer}}")
	f.await("boats", "False Invalid: 1 of 3 stored objects would be refused if written again: spec.c: must be of type integer, not string (1)")
}

// When no object is left, the condition and the metric go. They also go with the definition.
func TestObjectsGone(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{RecheckInterval: 200 * time.Millisecond})
	f.define("boats", wide)
	f.define("ships", wide)
	for _, plural := range []string{"boats", "ships"} {
		f.create(plural, "a", "{}")
		f.await(plural, valid)
		f.redefine(plural, narrow)
		f.await(plural, "False Invalid: 1 of 1 stored object would be refused if written again: spec.b: is required (1)")
		f.awaitMetric(plural, "1")
	}
	if err := f.objects("boats").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.await("boats", "")
	f.awaitMetric("boats", "")
	f.create("boats", "a", "{b: z}")
	f.await("boats", valid)
	if err := f.client.Resource(definitions).Delete(t.Context(), "ships.valid.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.awaitMetric("ships", "")
}

// A server that starts computes the conditions that are False, or absent although there are objects.
func TestRestart(t *testing.T) {
	t.Parallel()
	settings := apiserver.Config{DataDir: t.TempDir()}
	f := start(t, settings)
	const broken = "False Invalid: 1 of 1 stored object would be refused if written again: spec.b: is required (1)"
	for _, plural := range []string{"boats", "ships", "many"} {
		f.define(plural, wide)
		f.create(plural, "a", "{}")
		f.await(plural, valid)
	}
	for _, plural := range []string{"boats", "ships"} {
		f.redefine(plural, narrow)
		f.await(plural, broken)
	}
	// The condition stays False: the next computation is ten minutes away.
	if _, err := f.objects("boats").Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec": {"b": "z"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		f.create("many", fmt.Sprint("o", i), "{}")
	}
	servertest.SetLeader(t, f.server.Client(t), "another", time.Hour)
	if err := f.server.Stop(); err != nil {
		t.Fatal(err)
	}
	// A server that is not the leader computes no condition.
	idle := start(t, settings)
	idle.removeCondition("ships")
	idle.redefine("many", narrow)
	idle.removeCondition("many")
	if got := condition(idle.get("boats")); got != broken {
		t.Errorf("without a leader: %s", got)
	}
	// A write of an object adds the condition, although other objects are not valid.
	if _, err := idle.objects("many").Patch(t.Context(), "o1", types.MergePatchType, []byte(`{"spec": {"b": "z"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the leader has to compute the condition", func() bool { return strings.HasPrefix(condition(idle.get("many")), computing) })
	servertest.SetLeader(t, idle.server.Client(t), "", time.Second)
	if err := idle.server.Stop(); err != nil {
		t.Fatal(err)
	}
	again := start(t, settings)
	again.await("boats", valid)
	again.await("ships", broken)
	again.await("many", "False Invalid: 50 of 51 stored objects would be refused if written again: spec.b: is required (50)")
}

// A change of the stored versions, with which a migration ends, makes the server compute the condition again.
func TestStoredVersions(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	two := strings.Replace(define("boats", wide), "versions: [", "versions: [{name: v2, served: true, storage: false, schema: {openAPIV3Schema: "+
		"{type: object, x-kubernetes-preserve-unknown-fields: true}}}, ", 1)
	if _, err := f.client.Resource(definitions).Create(t.Context(), yamltest.Object(t, two), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.create("boats", "a", "{}")
	f.await("boats", valid)
	next := yamltest.Object(t, strings.NewReplacer("v2, served: true, storage: false", "v2, served: true, storage: true",
		"v1, served: true, storage: true", "v1, served: true, storage: false").Replace(two))
	next.SetResourceVersion(f.get("boats").GetResourceVersion())
	answer, err := f.client.Resource(definitions).Update(t.Context(), next, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := condition(answer); !strings.HasPrefix(got, computing) {
		t.Errorf("the answer to another storage version has %q", got)
	}
	f.await("boats", valid)
	if _, err := f.objects("boats").Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec": {"a": "x"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	answer, err = f.client.Resource(definitions).Patch(t.Context(), "boats.valid.example.com", types.MergePatchType,
		[]byte(`{"status": {"storedVersions": ["v2"]}}`), metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	if got := condition(answer); !strings.HasPrefix(got, computing) {
		t.Errorf("the answer to other stored versions has %q", got)
	}
	f.await("boats", valid)
}

// With two servers, no state of a definition has the condition of another one, and no write of an object fails because of the condition.
func TestReplicas(t *testing.T) {
	t.Parallel()
	cluster := etcd.Cluster{Servers: []string{servertest.StartEtcd(t, transport.TLSInfo{})}}
	one, two := start(t, apiserver.Config{Etcd: cluster}), start(t, apiserver.Config{Etcd: cluster})
	one.define("boats", wide)
	waittest.Until(t, "the other server serves the kind", func() error {
		_, err := two.objects("boats").List(t.Context(), metav1.ListOptions{})
		return err
	})
	for i := range 60 {
		two.create("boats", fmt.Sprint("o", i), "{a: x}")
	}
	two.await("boats", valid)
	watcher, err := one.client.Resource(definitions).Watch(t.Context(), metav1.ListOptions{
		FieldSelector: "metadata.name=boats.valid.example.com", ResourceVersion: one.get("boats").GetResourceVersion(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	var watching, writing sync.WaitGroup
	states := map[string]int{}
	watching.Go(func() {
		for event := range watcher.ResultChan() {
			crd, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				t.Errorf("the watch shows %v", event.Object)
				return
			}
			isNarrow := strings.Contains(fmt.Sprint(crd.Object["spec"]), "required:[b]")
			state, _, _ := strings.Cut(condition(crd), " ")
			states[fmt.Sprintf("%s narrow=%t", state, isNarrow)]++
			if state == "True" && isNarrow || state == "False" && !isNarrow {
				t.Errorf("the definition is narrow: %t, and has %s", isNarrow, condition(crd))
			}
			if crd.GetLabels()["last"] != "" {
				return
			}
		}
	})
	stop := make(chan struct{})
	writing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			patch := fmt.Appendf(nil, `{"metadata": {"labels": {"round": "r%d"}}}`, i)
			if _, err := two.objects("boats").Patch(t.Context(), "o0", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				t.Errorf("write of an object: %v", err)
				return
			}
		}
	})
	for i := range 12 {
		one.redefine("boats", narrow)
		if i%4 == 0 {
			two.await("boats", "False Invalid: 60 of 60 stored objects would be refused if written again: spec.b: is required (60)")
		}
		two.redefine("boats", wide)
		if i%4 == 1 {
			one.await("boats", valid)
		}
	}
	close(stop)
	writing.Wait()
	one.await("boats", valid)
	if _, err := one.client.Resource(definitions).Patch(t.Context(), "boats.valid.example.com", types.MergePatchType,
		[]byte(`{"metadata": {"labels": {"last": "x"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	watching.Wait()
	if states["True narrow=false"] == 0 || states["False narrow=true"] == 0 || states["Unknown narrow=true"] == 0 {
		t.Errorf("the watch saw %v", states)
	}
}

const unreadable = "Unknown Unreadable: the server cannot read the stored objects; the log of the leader has the reason"

// startOn starts a server on an etcd, with a client of the etcd.
func startOn(t *testing.T, start func(testing.TB, apiserver.Config) *servertest.Server) (*fixture, *clientv3.Client) {
	t.Helper()
	address := servertest.StartEtcd(t, transport.TLSInfo{})
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{address}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return on(t, start(t, apiserver.Config{Etcd: etcd.Cluster{Servers: []string{address}}, RecheckInterval: 200 * time.Millisecond})), client
}

// If an object cannot be read when the first one is written, the condition says so, on a server that is not the leader too.
func TestFirstUnreadable(t *testing.T) {
	t.Parallel()
	f, client := startOn(t, func(t testing.TB, config apiserver.Config) *servertest.Server {
		return servertest.StartLedBy(t, "another", config)
	})
	f.define("boats", wide)
	if _, err := client.Put(t.Context(), "/registry/valid.example.com/boats/default/confidential", `{"kind":`); err != nil {
		t.Fatal(err)
	}
	f.create("boats", "a", "{}")
	f.await("boats", unreadable)
}

// If an object cannot be read, the condition says so, without its name. When the object is gone, the server computes the condition.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	f, client := startOn(t, servertest.Start)
	f.define("boats", wide)
	f.create("boats", "a", "{}")
	f.await("boats", valid)
	found, err := client.Get(t.Context(), "/registry/valid.example.com/boats/", clientv3.WithPrefix())
	if err != nil || len(found.Kvs) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	const refused = "False Invalid: 1 of 1 stored object would be refused if written again: spec.b: is required (1)"
	f.redefine("boats", narrow)
	f.await("boats", refused)
	broken := strings.TrimSuffix(string(found.Kvs[0].Key), "a") + "confidential"
	if _, err := client.Put(t.Context(), broken, `{"kind":`); err != nil {
		t.Fatal(err)
	}
	f.await("boats", unreadable)
	f.awaitMetric("boats", "")
	if _, err := client.Delete(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	f.await("boats", refused)
}

// A definition that is being deleted keeps its condition, and its objects are not read any more.
func TestTerminating(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{RecheckInterval: 50 * time.Millisecond})
	f.define("boats", wide)
	f.create("boats", "a", "{}")
	f.await("boats", valid)
	if _, err := f.objects("boats").Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata": {"finalizers": ["example.com/wait"]}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	f.redefine("boats", narrow)
	const broken = "False Invalid: 1 of 1 stored object would be refused if written again: spec.b: is required (1)"
	f.await("boats", broken)
	if err := f.client.Resource(definitions).Delete(t.Context(), "boats.valid.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	// Another definition goes through several computations meanwhile.
	f.define("ships", wide)
	f.create("ships", "a", "{}")
	f.await("ships", valid)
	for range 3 {
		f.redefine("ships", narrow)
		f.await("ships", broken)
		f.redefine("ships", wide)
		f.await("ships", valid)
	}
	if got := condition(f.get("boats")); got != broken {
		t.Errorf("while it is deleted, the definition has %q", got)
	}
	if _, err := f.objects("boats").Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the definition is gone", func() bool {
		_, err := f.client.Resource(definitions).Get(t.Context(), "boats.valid.example.com", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	f.awaitMetric("boats", "")
}
