package gate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	boats       = schema.GroupVersionResource{Group: "gate.example.com", Version: "v1", Resource: "boats"}
)

const name = "boats.gate.example.com"

// define returns a definition with a policy, and with the properties of spec in v1 and v2, without v2 if it has none.
func define(policy, one, two string) string {
	version := func(name, spec string, storage bool) string {
		return fmt.Sprintf("{name: %s, served: true, storage: %t, schema: {openAPIV3Schema: {type: object, properties: "+
			"{spec: {type: object, properties: {%s}}}}}}", name, storage, spec)
	}
	versions := version("v1", one, true)
	if two != "" {
		versions += ", " + version("v2", two, false)
	}
	annotations := "{}"
	if policy != "" {
		annotations = "{holdfast.dev/definition-policy: " + policy + "}"
	}
	return fmt.Sprintf("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %s, annotations: %s}, "+
		"spec: {group: gate.example.com, scope: Namespaced, names: {plural: boats, kind: Boat}, versions: [%s]}}", name, annotations, versions)
}

// warnings collects the warnings of responses.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// fixture is a server with a definition and objects.
type fixture struct {
	*testing.T
	server *servertest.Server
	client dynamic.Interface
	warned *warnings
}

func start(t *testing.T, settings apiserver.Config) *fixture {
	t.Helper()
	settings.DataDir = t.TempDir()
	f := &fixture{T: t, server: servertest.Start(t, settings), warned: &warnings{}}
	f.client = f.as(f.server.Config(t))
	return f
}

func (f *fixture) as(user *rest.Config) dynamic.Interface {
	user = rest.CopyConfig(user)
	user.WarningHandler = f.warned
	return dynamic.NewForConfigOrDie(user)
}

// create creates a definition with objects, each the text of its spec.
func (f *fixture) create(definition string, specs ...string) {
	f.Helper()
	if _, err := f.client.Resource(definitions).Create(f.Context(), yamltest.Object(f.T, definition), metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
	for i, spec := range specs {
		object := fmt.Sprintf("{apiVersion: gate.example.com/v1, kind: Boat, metadata: {name: b%d}, spec: %s}", i, spec)
		if _, err := f.client.Resource(boats).Namespace("default").Create(f.Context(), yamltest.Object(f.T, object), metav1.CreateOptions{}); err != nil {
			f.Fatal(err)
		}
	}
}

// remove removes the definition and its objects.
func (f *fixture) remove() {
	f.Helper()
	if err := f.client.Resource(definitions).Delete(f.Context(), name, metav1.DeleteOptions{}); err != nil {
		f.Fatal(err)
	}
	waittest.Until(f.T, "the definition is gone", func() bool {
		_, err := f.client.Resource(definitions).Get(f.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// judged returns a definition that has objects, and whether all of them are valid, when the server has written so in the condition. Later,
// the server changes the definition no more by itself.
func (f *fixture) judged(name string) (crd *unstructured.Unstructured, valid bool) {
	f.Helper()
	waittest.Until(f.T, "the server has judged the objects of "+name, func() (err error) {
		if crd, err = f.client.Resource(definitions).Get(f.Context(), name, metav1.GetOptions{}); err != nil {
			f.Fatal(err)
		}
		status := verdictOf(crd)
		if valid = status == "True"; status == "" || status == "Unknown" {
			return fmt.Errorf("the condition is %q", status)
		}
		return nil
	})
	return crd, valid
}

// verdictOf returns the status of the condition StoredObjectsValid, empty if there is none.
func verdictOf(crd *unstructured.Unstructured) any {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, item := range conditions {
		if c, ok := item.(map[string]any); ok && c["type"] == "StoredObjectsValid" {
			return c["status"]
		}
	}
	return ""
}

// replace replaces the definition, as a client does that read it before.
func (f *fixture) replace(client dynamic.Interface, definition string, options metav1.UpdateOptions) error {
	f.Helper()
	f.warned.texts = nil
	// The server may write a condition of the definition at the same time.
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		stored, _ := f.judged(name)
		next := yamltest.Object(f.T, definition)
		next.SetResourceVersion(stored.GetResourceVersion())
		_, err := client.Resource(definitions).Update(f.Context(), next, options)
		return err
	})
}

// apply sends a definition as server-side apply, which creates it if there is none.
func (f *fixture) apply(client dynamic.Interface, definition string, dryRun ...string) error {
	f.Helper()
	f.warned.texts = nil
	_, err := client.Resource(definitions).Apply(f.Context(), name, yamltest.Object(f.T, definition), metav1.ApplyOptions{FieldManager: "test", DryRun: dryRun})
	return err
}

// want checks an error by a part of its text, "ok" for none, and the warnings by parts of theirs.
func (f *fixture) want(what string, err error, text string, warned ...string) {
	f.Helper()
	got := "ok"
	if err != nil {
		got = err.Error()
	}
	if !strings.Contains(got, text) {
		f.Errorf("%s: %s, want %s", what, got, text)
	}
	if len(warned) != len(f.warned.texts) {
		f.Errorf("%s: warnings %q, want %q", what, f.warned.texts, warned)
		return
	}
	for i, part := range warned {
		if !strings.Contains(f.warned.texts[i], part) {
			f.Errorf("%s: warning %q, want %q", what, f.warned.texts[i], part)
		}
	}
}

const (
	a, ab    = "a: {type: string}", "a: {type: string}, b: {type: string}"
	lost     = "the field is gone: stored objects lose it when they are read, and kubectl refuses files that set it (2 stored objects: default/b0, default/b1)"
	narrow   = "a: {type: string, maxLength: 1}"
	narrowed = "the server refuses values that it accepted; stored objects keep them until they are changed"
	advice   = "first set the annotation holdfast.dev/definition-policy to warn, with the right to loosen"
)

// Each policy refuses what it names, and warns about what the table of the rules says.
func TestPolicies(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	for _, test := range []struct {
		policy, what, updated, want string
		warned                      []string
	}{
		{"warn", "a loss", a, "ok", []string{lost}},
		{"refuse-loss", "a loss", a, lost, nil},
		{"refuse-breaking", "a loss", a, lost, nil},
		{"warn", "a break", narrow + ", b: {type: string}", "ok", []string{narrowed + " (1 stored object: default/b1)"}},
		{"refuse-loss", "a break", narrow + ", b: {type: string}", "ok", []string{narrowed + " (1 stored object: default/b1)"}},
		{"refuse-breaking", "a break", narrow + ", b: {type: string}", narrowed + " (1 stored object: default/b1)", nil},
		{"refuse-breaking", "a new field", ab + ", c: {type: string}", "ok", nil},
		{"refuse-breaking", "the rest", "a: {type: string, default: x}, b: {type: string}", "ok", []string{"stored objects without the field have the default"}},
	} {
		f.create(define(test.policy, ab, ""), "{a: x, b: z}", "{a: xx, b: z}")
		what := test.policy + ", " + test.what
		f.want(what+", as a dry run", f.replace(f.client, define(test.policy, test.updated, ""), metav1.UpdateOptions{DryRun: []string{"All"}}), test.want, test.warned...)
		err := f.replace(f.client, define(test.policy, test.updated, ""), metav1.UpdateOptions{})
		f.want(what, err, test.want, test.warned...)
		var status apierrors.APIStatus
		if errors.As(err, &status) && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), advice) || len(status.Status().Details.Causes) != 1) {
			t.Errorf("%s: %#v", what, err)
		}
		stored, err := f.client.Resource(definitions).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || strings.Contains(fmt.Sprint(stored.Object["status"]), "Closed") {
			t.Errorf("%s: %v, %v", what, stored.Object["status"], err)
		}
		f.remove()
	}
}

// The server judges a write by the policy of the stored definition. A user that makes this policy weaker needs the verb loosen.
func TestLoosen(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{DefinitionPolicy: "refuse-loss"})
	admin := f.server.Client(t)
	role := rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "author"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{definitions.Group}, Resources: []string{"customresourcedefinitions", "customresourcedefinitions/status"},
		Verbs: []string{"get", "list", "create", "update", "patch"},
	}}}
	if _, err := admin.RbacV1().ClusterRoles().Create(t.Context(), &role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := rbacv1.ClusterRoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "author"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "ann"}},
	}
	if _, err := admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ann := f.as(f.server.As(t, "ann"))
	waittest.Until(t, "ann may read definitions", func() error {
		_, err := ann.Resource(definitions).List(t.Context(), metav1.ListOptions{})
		return err
	})
	_, err := ann.Resource(definitions).Create(t.Context(), yamltest.Object(t, define("warn", ab, "")), metav1.CreateOptions{})
	f.want("a new definition below the flag", err, "would change from refuse-loss to warn, and the user may not loosen it")
	if !apierrors.IsForbidden(err) {
		t.Errorf("%#v", err)
	}
	f.want("a new definition below the flag, applied", f.apply(ann, define("warn", ab, "")), "would change from refuse-loss to warn, and the user may not loosen it")
	f.create(define("", ab, ""), "{a: x, b: z}", "{a: xx, b: z}")
	f.want("a loss by a user that may not list", f.replace(ann, define("", a, ""), metav1.UpdateOptions{}), "kubectl refuses files that set it (2 stored objects);")
	f.want("below the flag", f.replace(ann, define("warn", ab, ""), metav1.UpdateOptions{}), "may not loosen")
	f.want("stronger", f.replace(ann, define("refuse-breaking", ab, ""), metav1.UpdateOptions{}), "ok")
	f.want("removed", f.replace(ann, define("", ab, ""), metav1.UpdateOptions{}), "would change from refuse-breaking to refuse-loss")
	status := func(client dynamic.Interface, annotation, value string) error {
		f.warned.texts = nil
		patch := fmt.Appendf(nil, `{"metadata": {"annotations": {"holdfast.dev/%s": %s}}}`, annotation, value)
		_, err := client.Resource(definitions).Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	}
	f.want("below the flag, through the status", status(ann, "definition-policy", `"warn"`), "would change from refuse-breaking to warn, and the user may not loosen it")
	f.want("removed through the status", status(ann, "definition-policy", "null"), "would change from refuse-breaking to refuse-loss")
	f.want("another word through the status", status(f.client, "definition-policy", `"never"`), `Unsupported value: "never": supported values: "warn"`)
	f.want("a wrong rule through the status", status(f.client, "immutability", `"immutable spec.other"`), "no version has this field")
	f.want("wrong references through the status", status(f.client, "references", `"x"`), "metadata.annotations[holdfast.dev/references]: Invalid value")
	f.want("a label through the status", status(ann, "note", `"x"`), "ok")
	f.want("a rule through the status", status(f.client, "immutability", `"immutable spec.a"`), "ok", "spec is optional", "changed from free to immutable")
	const rule = `the rule "immutable spec.a" is gone, so it forbids nothing from now on`
	f.want("a rule removed through the status", status(f.client, "immutability", "null"), "properties[a]: changed from immutable to free", rule)
	f.want("weaker through the status, by a user that may", status(f.client, "definition-policy", `"warn"`), "ok")
	f.want("a rule removed through the status with warn", status(f.client, "immutability", "null"), "ok", rule)
	f.want("stronger through the status", status(ann, "definition-policy", `"refuse-breaking"`), "ok")
	f.want("in one step", f.replace(f.client, define("warn", a, ""), metav1.UpdateOptions{}), lost)
	f.want("the first step", f.replace(f.client, define("warn", ab, ""), metav1.UpdateOptions{}), "ok")
	f.want("the second step", f.replace(f.client, define("warn", a, ""), metav1.UpdateOptions{}), "ok", lost)
	f.want("another word", f.replace(f.client, define("never", a, ""), metav1.UpdateOptions{}), `Unsupported value: "never": supported values: "warn", "refuse-loss", "refuse-breaking"`)
	metrics, err := admin.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"holdfast_definition_losses_total 2", `holdfast_refusals_total{protection="definition"} 9`} {
		if !slices.Contains(strings.Split(string(metrics), "\n"), line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
}

// The server judges a new storage version, a change of the stored versions, and a new definition by the objects that an earlier one left.
func TestVersions(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{DefinitionPolicy: "refuse-loss"})
	f.create(define("", ab, a), "{a: x, b: z}")
	second := strings.NewReplacer("v1, served: true, storage: true", "v1, served: true, storage: false", "v2, served: true, storage: false", "v2, served: true, storage: true")
	f.want("a storage version without a field", f.replace(f.client, second.Replace(define("", ab, a)), metav1.UpdateOptions{}),
		"version v2, in which objects are stored, does not have spec.b of version v1")
	f.want("a storage version with it", f.replace(f.client, second.Replace(define("", ab, ab)), metav1.UpdateOptions{}), "ok")
	stored := func(versions string) error {
		f.warned.texts = nil
		patch := []byte(`{"status": {"storedVersions": ` + versions + `}}`)
		_, err := f.client.Resource(definitions).Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	}
	f.want("a stored version", stored(`["v2"]`), "version v1 is gone, although objects are stored in it")
	_, err := f.client.Resource(boats).Namespace("default").Patch(t.Context(), "b0", types.MergePatchType, []byte(`{"metadata": {"labels": {"a": "b"}}}`), metav1.PatchOptions{})
	f.want("the object in the new version", err, "ok")
	f.want("a version without objects", stored(`["v2"]`), "ok")

	// Without its finalizer, a definition goes before its objects.
	_, err = f.client.Resource(boats).Namespace("default").Patch(t.Context(), "b0", types.MergePatchType, []byte(`{"metadata": {"finalizers": ["example.com/wait"]}}`), metav1.PatchOptions{})
	f.want("a finalizer", err, "ok")
	if err := f.client.Resource(definitions).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.client.Resource(definitions).Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the definition is gone", func() bool {
		_, err := f.client.Resource(definitions).Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	create := func(text string) error {
		f.warned.texts = nil
		_, err := f.client.Resource(definitions).Create(t.Context(), yamltest.Object(t, text), metav1.CreateOptions{})
		return err
	}
	f.want("a definition without the field", create(define("", a, a)), "unknown fields are dropped, which were kept before: stored objects lose these fields when they are read (1 stored object: default/b0)")
	f.want("a definition without the field, applied", f.apply(f.client, define("", a, a)),
		"unknown fields are dropped, which were kept before: stored objects lose these fields when they are read (1 stored object: default/b0)")
	f.want("one with both, applied", f.apply(f.client, define("", ab, ab), metav1.DryRunAll), "ok")
	f.want("a definition without the version", create(define("", ab, "")), "version v2, in which objects are stored, is gone")
	f.want("one with both", create(define("", ab, ab)), "ok")
}

// A scan that takes too long is an error if the policy refuses something, and a warning otherwise.
func TestTimeout(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{DefinitionScanTimeout: time.Nanosecond})
	f.create(define("refuse-loss", ab, ""), "{a: x, b: z}")
	err := f.replace(f.client, define("refuse-loss", a, ""), metav1.UpdateOptions{})
	f.want("refuse-loss", err, "the stored objects could not all be read within 1ns: 0 objects read so far")
	if status := apierrors.APIStatus(nil); !errors.As(err, &status) || status.Status().Code != http.StatusGatewayTimeout {
		t.Errorf("%#v", err)
	}
	f.want("without a scan", f.replace(f.client, define("refuse-loss", ab+", c: {type: string}", ""), metav1.UpdateOptions{}), "ok")
	f.want("the policy", f.replace(f.client, define("", ab, ""), metav1.UpdateOptions{}), "could not all be read")
	f.want("warn", f.replace(f.client, define("warn", ab+", c: {type: string}", ""), metav1.UpdateOptions{}), "ok")
	f.want("warn", f.replace(f.client, define("warn", a+", c: {type: string}", ""), metav1.UpdateOptions{}), "ok", "could not all be read within 1ns")
}

// The answer names ten changes and counts the others, and the audit log has the place of each loss.
func TestManyChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "audit.yaml"), filepath.Join(dir, "audit.log")
	if err := os.WriteFile(policy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := start(t, apiserver.Config{Audit: config.Audit{PolicyFile: policy, LogPath: log}})
	var wide, limited []string
	for i := range 12 {
		wide = append(wide, fmt.Sprintf("f%d: {type: string}", i))
		limited = append(limited, fmt.Sprintf("f%d: {type: string, maxLength: 1}", i))
	}
	f.create(define("", strings.Join(wide, ", ")+", b: {type: string}", ""), "{b: z}")
	err := f.replace(f.client, define("", strings.Join(limited, ", "), ""), metav1.UpdateOptions{})
	if err != nil || len(f.warned.texts) != 11 || !strings.HasSuffix(f.warned.texts[10], "3 changes more, see holdfast schema diff") {
		t.Errorf("%v, warnings %q", err, f.warned.texts)
	}
	if err := f.server.Stop(); err != nil {
		t.Fatal(err)
	}
	logged, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	const lossOf = `"definitions.holdfast.dev/loss":"spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[b]"`
	if strings.Count(string(logged), lossOf) != 1 {
		t.Errorf("the audit log lacks %s:\n%s", lossOf, logged)
	}
}

// With two servers, a field is not removed from a definition while another server stores an object with it. The test ends when each of
// the two requests has been the first one.
func TestReplicas(t *testing.T) {
	t.Parallel()
	cluster := etcd.Cluster{Servers: []string{servertest.StartEtcd(t, transport.TLSInfo{})}}
	settings := apiserver.Config{Etcd: cluster, DefinitionPolicy: "refuse-loss"}
	one, two := start(t, settings), start(t, settings)
	outcomes := map[string]int{}
	for round := 0; round < 10 || outcomes["removed"] == 0 || outcomes["refused"] == 0; round++ {
		if round == 500 {
			t.Fatalf("%d rounds, and the outcomes are %v", round, outcomes)
		}
		one.create(define("", ab, ""), "{a: x}")
		waittest.Until(t, "the other server serves the kind", func() error {
			_, err := two.client.Resource(boats).Namespace("default").Get(t.Context(), "b0", metav1.GetOptions{})
			return err
		})
		var defineErr error
		var running sync.WaitGroup
		running.Go(func() { defineErr = one.replace(one.client, define("", a, ""), metav1.UpdateOptions{}) })
		for range rand.IntN(30) { // the write begins at another moment of the update
			if _, err := two.client.Resource(boats).Namespace("default").Get(t.Context(), "b0", metav1.GetOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		object, err := two.client.Resource(boats).Namespace("default").Patch(context.WithoutCancel(t.Context()), "b0", types.MergePatchType,
			[]byte(`{"spec": {"b": "z"}}`), metav1.PatchOptions{})
		running.Wait()
		if err != nil {
			t.Fatal(err)
		}
		has := strings.Contains(fmt.Sprint(object.Object["spec"]), "b:z")
		switch {
		case defineErr == nil && has:
			t.Fatal("the field was removed, and an object with it was stored before")
		case defineErr == nil:
			outcomes["removed"]++
		case !has || !apierrors.IsInvalid(defineErr):
			t.Fatalf("the object has the field: %t, and the answer is %v", has, defineErr)
		default:
			outcomes["refused"]++
		}
		one.remove()
	}
	t.Log(outcomes)
}
