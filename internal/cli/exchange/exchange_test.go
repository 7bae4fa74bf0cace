package exchange_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/cli/exchange"
	"holdfast.dev/holdfast/internal/replacement/journal"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// A replacement deletes and creates, says how long the object was absent, and leaves no journal.
func TestReplace(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	old := c.create(t, c.configMap(t, "a", "1"))
	e := exchanger(t, shared, nil)
	target := exchange.Target{Resource: configMaps, Old: old, New: c.configMap(t, "a", "2")}
	if err := e.Check(t.Context(), target); err != nil {
		t.Fatal(err)
	}
	c.holdsUID(t, "after the check", "a", old.GetUID())
	begin := time.Now()
	result, err := e.Replace(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); result.Absent <= 0 || result.Absent > took+time.Millisecond {
		t.Errorf("absent for %s of %s", result.Absent, took)
	}
	created := c.holds(t, "replaced", "a", "2")
	if created.GetUID() != result.UID || result.UID == old.GetUID() {
		t.Errorf("UID %s, the result says %s", created.GetUID(), result.UID)
	}
	if manager := created.GetManagedFields()[0].Manager; manager != "test" {
		t.Errorf("manager %s", manager)
	}
}

func (c cluster) holdsUID(t testing.TB, what, name string, uid types.UID) {
	t.Helper()
	if found := c.get(t, name); found == nil || found.GetUID() != uid || found.GetDeletionTimestamp() != nil {
		t.Errorf("%s: stored %v", what, found)
	}
	if n := c.journals(t); n != 0 {
		t.Errorf("%s: %d journals are open", what, n)
	}
}

// Check names what speaks against a replacement, and writes nothing.
func TestCheck(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	large := func(level string) *unstructured.Unstructured {
		object := c.configMap(t, "large", level)
		if err := unstructured.SetNestedField(object.Object, strings.Repeat("x", 600<<10), "data", "large"); err != nil {
			t.Fatal(err)
		}
		return object
	}
	held := c.configMap(t, "held", "1")
	held.SetFinalizers([]string{"example.com/a"})
	invalid := c.configMap(t, "invalid", "2")
	if err := unstructured.SetNestedField(invalid.Object, "x", "data", "not a key!"); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		old, created *unstructured.Unstructured
		want         string
	}{
		"too large":   {large("1"), large("2"), "ConfigMap/large: the journal would have"},
		"a finalizer": {held, c.configMap(t, "held", "2"), "ConfigMap/held: the object cannot be replaced: it has the finalizer example.com/a"},
		"not valid":   {c.configMap(t, "invalid", "1"), invalid, "ConfigMap/invalid: the server would not create the new object: "},
	}
	e := exchanger(t, shared, nil)
	for name, test := range tests {
		old := c.create(t, test.old)
		err := e.Check(t.Context(), exchange.Target{Resource: configMaps, Old: old, New: test.created})
		wants(t, name, err, test.want)
		c.holdsUID(t, name, old.GetName(), old.GetUID())
	}

	// The object was changed after the plan.
	old := c.create(t, c.configMap(t, "changed", "1"))
	old.SetResourceVersion("1")
	wants(t, "changed", e.Check(t.Context(), exchange.Target{Resource: configMaps, Old: old, New: c.configMap(t, "changed", "2")}),
		"ConfigMap/changed: the server would not delete the old object: ", "might have been modified")
}

// The kinds that are never replaced, and the loss of data, are those of our own server.
func TestCheckKinds(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	e := exchanger(t, shared, nil)
	check := func(resource schema.GroupVersionResource, text string) error {
		t.Helper()
		object := yamltest.Object(t, text)
		namespace := object.GetNamespace()
		client := c.Dynamic.Resource(resource)
		stored, err := client.Namespace(namespace).Create(t.Context(), object, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return e.Check(t.Context(), exchange.Target{Resource: resource, Old: stored, New: object})
	}
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	wants(t, "a namespace", check(namespaces, "{apiVersion: v1, kind: Namespace, metadata: {name: "+c.Namespace+"-b}}"), "namespaces are never replaced")
	claims := schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	claim := func(name string) string {
		return "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: " + name + ", namespace: " + c.Namespace + `},
			spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`
	}
	wants(t, "a claim", check(claims, claim("a")), "--allow-data-loss PersistentVolumeClaim/a")
	e.AllowDataLoss = []string{"PersistentVolumeClaim/b"}
	if err := check(claims, claim("b")); err != nil {
		t.Errorf("a claim whose loss is allowed: %v", err)
	}
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	wants(t, "a pod on a node", check(pods, "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: "+c.Namespace+`},
		spec: {nodeName: n1, containers: [{name: a, image: a}]}}`), "the pod runs on the node n1")
	sets := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	wants(t, "a stateful set", check(sets, "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, namespace: "+c.Namespace+`},
		spec: {serviceName: a, persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Retain}, selector: {matchLabels: {a: b}},
		template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}`), "--allow-data-loss StatefulSet/a")
}

// The command refuses to begin if the user lacks a right to the journal.
func TestRights(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	const user = "may-not-write-secrets"
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"*"}},
			{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "create", "update"}},
		},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "a"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "a"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if _, err := c.RbacV1().Roles(c.Namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	old := c.create(t, c.configMap(t, "a", "1"))
	config := rest.CopyConfig(shared)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	e := exchanger(t, config, nil)
	target := exchange.Target{Resource: configMaps, Old: old, New: c.configMap(t, "a", "2")}
	wants(t, "no rights", e.Check(t.Context(), target), "the journal of the replacement, a Secret in the namespace "+c.Namespace+", cannot be written")
	if _, err := c.RbacV1().RoleBindings(c.Namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the role applies", func() bool {
		err := e.Check(t.Context(), target)
		return err != nil && strings.Contains(err.Error(), "the user lacks the right to delete it")
	})
	c.holdsUID(t, "no rights", "a", old.GetUID())
}

// An object that was changed after the plan stays, whether the run began after or before the change.
func TestChanged(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	old := c.create(t, c.configMap(t, "a", "1"))
	target := exchange.Target{Resource: configMaps, Old: old, New: c.configMap(t, "a", "2")}
	entry := c.begin(t, target)
	changed, err := c.Dynamic.Resource(configMaps).Namespace(c.Namespace).Patch(t.Context(), "a", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"app":"b"}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e := exchanger(t, shared, nil)
	if _, err := e.Resume(t.Context(), entry, true); !errors.Is(err, exchange.ErrChanged) {
		t.Errorf("a run that begins before the change: %v", err)
	}
	c.holdsUID(t, "changed", "a", changed.GetUID())
	if _, err := e.Replace(t.Context(), target); !errors.Is(err, exchange.ErrChanged) {
		t.Errorf("a run that begins after the change: %v", err)
	}
	c.holdsUID(t, "changed", "a", changed.GetUID())
}

// A journal with a refusal deletes nothing: the old object is what must be stored then.
func TestRefusedButStored(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	old := c.create(t, c.configMap(t, "a", "1"))
	entry := c.begin(t, exchange.Target{Resource: configMaps, Old: old, New: c.configMap(t, "a", "2")})
	entry.Refusal = "no"
	if _, err := exchanger(t, shared, nil).Resume(t.Context(), entry, true); !errors.Is(err, exchange.ErrNotBegun) {
		t.Errorf("error %v", err)
	}
	c.holdsUID(t, "refused", "a", old.GetUID())
}

// reset removes an object and its journal.
func (c cluster) reset(t testing.TB, name string) {
	t.Helper()
	if entry := c.find(t, name); entry != nil {
		if err := c.CoreV1().Secrets(c.Namespace).Delete(t.Context(), entry.Stored.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if c.get(t, name) != nil {
		if err := c.CoreV1().ConfigMaps(c.Namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// begin runs a replacement until its journal is written, and returns the journal.
func (c cluster) begin(t testing.TB, target exchange.Target) *journal.Entry {
	t.Helper()
	return c.runUntil(t, target, func() bool { return c.find(t, target.New.GetName()) != nil })
}

// runUntil ends runs of a replacement at later and later requests, until a condition holds. It returns the journal.
func (c cluster) runUntil(t testing.TB, target exchange.Target, holds func() bool) *journal.Entry {
	t.Helper()
	for at := int32(1); at < 20; at++ {
		// A run that ended at an earlier request may have left a journal: the next begins anew as long as the object is there.
		_ = c.attempt(t, &killer{at: at, handled: true}, target, true)
		if holds() {
			return c.find(t, target.New.GetName())
		}
	}
	t.Fatal("no run ended where it should")
	return nil
}

// An object that another client creates after the deletion stays, and so does the journal, which has the old one.
func TestAnotherClientCreates(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	target := exchange.Target{Resource: configMaps, Old: c.create(t, c.configMap(t, "a", "1")), New: c.configMap(t, "a", "2")}
	entry := c.runUntil(t, target, func() bool { return c.get(t, "a") == nil })
	if entry == nil {
		t.Fatal("there is no journal")
	}
	foreign := c.create(t, c.configMap(t, "a", "3"))
	_, err := exchanger(t, shared, nil).Resume(t.Context(), entry, true)
	wants(t, "foreign", err, "another client created one of this name, with the UID "+string(foreign.GetUID()), "it stays as it is", entry.Stored.Name)
	if found := c.get(t, "a"); found == nil || found.GetUID() != foreign.GetUID() {
		t.Errorf("stored %v", found)
	}
	again := c.find(t, "a")
	if again == nil {
		t.Fatal("the journal is gone")
	}
	if level, _, _ := unstructured.NestedString(again.Old.Object, "data", "level"); level != "1" {
		t.Errorf("the journal has the level %s", level)
	}
}

// The journal is a lock: the second user learns who has it, and may finish the replacement.
func TestTwoUsers(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	old := c.create(t, c.configMap(t, "a", "1"))
	alice := exchanger(t, as("alice"), nil)
	// The old object is held, so alice's run ends with it half deleted.
	held := c.hold(t, "a")
	alice.Patience = time.Millisecond
	_, err := alice.Replace(t.Context(), exchange.Target{Resource: configMaps, Old: held, New: c.configMap(t, "a", "2")})
	wants(t, "alice", err, "has the finalizers example.com/a", "run the same command again")
	bob := exchanger(t, as("bob"), nil)
	_, err = bob.Replace(t.Context(), exchange.Target{Resource: configMaps, Old: held, New: c.configMap(t, "a", "3")})
	wants(t, "bob", err, "ConfigMap/a: alice on ", "began to replace it at ", "holdfast apply --replace --resume, and finish it with --yes")
	open, err := bob.List(t.Context(), c.Namespace)
	if err != nil || len(open) != 1 {
		t.Fatalf("%v: %d journals", err, len(open))
	}
	if state, err := bob.State(t.Context(), open[0]); err != nil || state != journal.Deleting {
		t.Errorf("%v: %s", err, state)
	}
	c.unhold(t, "a")
	result, err := bob.Resume(t.Context(), open[0], true)
	if err != nil {
		t.Fatal(err)
	}
	if created := c.holds(t, "finished by bob", "a", "2"); created.GetUID() == old.GetUID() || result.Absent <= 0 {
		t.Errorf("UID %s, absent for %s", created.GetUID(), result.Absent)
	}
}

// A journal that another client may have written, and that names the user, makes a run do nothing but what it would do by itself.
func TestPlantedJournal(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	old := c.create(t, c.configMap(t, "a", "1"))
	wanted, other := c.configMap(t, "a", "2"), c.configMap(t, "a", "3")
	alice := exchanger(t, as("alice"), nil)
	planted := func() *journal.Entry {
		return &journal.Entry{
			Resource: configMaps, UID: old.GetUID(), ResourceVersion: old.GetResourceVersion(), Old: other, New: wanted, User: "alice",
			Propagation: metav1.DeletePropagationBackground,
		}
	}
	for name, test := range map[string]struct {
		change   func(*journal.Entry)
		replaced bool
		want     string
	}{
		"its own":         {func(*journal.Entry) {}, true, ""},
		"another object":  {func(e *journal.Entry) { e.New = other }, true, "but with another new object"},
		"refused":         {func(e *journal.Entry) { e.Refusal = "no" }, true, "the old one has to be created again"},
		"propagation":     {func(e *journal.Entry) { e.Propagation = metav1.DeletePropagationOrphan }, true, "but with another --cascade"},
		"no replacement":  {func(*journal.Entry) {}, false, "the object need not be replaced"},
		"deleted already": {func(e *journal.Entry) { e.UID = "gone" }, false, ""},
		"another user":    {func(e *journal.Entry) { e.User = "bob" }, true, "bob began to replace it"},
	} {
		entry := planted()
		test.change(entry)
		err := alice.Continues(t.Context(), entry, wanted, test.replaced)
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.want != "":
			wants(t, name, err, test.want, "--resume")
		}
	}

	// The server refuses the new object, and the old one of the journal was never stored.
	if err := unstructured.SetNestedField(wanted.Object, "x", "data", "not a key!"); err != nil {
		t.Fatal(err)
	}
	entry := planted()
	secret, err := entry.Secret()
	if err == nil {
		entry.Stored, err = c.CoreV1().Secrets(c.Namespace).Create(t.Context(), secret, metav1.CreateOptions{})
	}
	if err == nil {
		err = c.Dynamic.Resource(configMaps).Namespace(c.Namespace).Delete(t.Context(), "a", metav1.DeleteOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = alice.Resume(t.Context(), entry, false)
	wants(t, "the new object is refused", err, "a valid config key", "look at it with kubectl get secret", "--resume --yes")
	if found := c.get(t, "a"); found != nil || c.find(t, "a") == nil {
		t.Errorf("created %v, or removed the journal", found)
	}
}

// hold gives an object a finalizer, and unhold removes it.
func (c cluster) hold(t testing.TB, name string) *unstructured.Unstructured {
	return c.patch(t, name, `{"metadata":{"finalizers":["example.com/a"]}}`)
}

func (c cluster) unhold(t testing.TB, name string) {
	c.patch(t, name, `{"metadata":{"finalizers":null}}`)
}

func (c cluster) patch(t testing.TB, name, patch string) *unstructured.Unstructured {
	t.Helper()
	patched, err := c.Dynamic.Resource(configMaps).Namespace(c.Namespace).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return patched
}

// Two runs that finish the same journal at once both end, with one new object.
func TestTwoRunsAtOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for range 20 {
		c.reset(t, "a")
		target := exchange.Target{Resource: configMaps, Old: c.create(t, c.configMap(t, "a", "1")), New: c.configMap(t, "a", "2")}
		entry := c.begin(t, target)
		if entry == nil {
			t.Fatal("no journal")
		}
		e := exchanger(t, shared, nil)
		ended := make(chan error, 3)
		for range cap(ended) {
			mine := *entry
			go func() {
				_, err := e.Finish(t.Context(), &mine, true)
				ended <- err
			}()
		}
		for range cap(ended) {
			if err := waittest.Receive(t, "the end of a run", ended); err != nil {
				t.Error(err)
			}
		}
		c.holds(t, "two runs", "a", "2")
	}
}

// If neither object can be created, the journal keeps both, and a later run restores the old one.
func TestNeitherCanBeCreated(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	target := exchange.Target{Resource: configMaps, Old: c.create(t, c.configMap(t, "a", "1")), New: c.configMap(t, "a", "2")}
	entry := c.runUntil(t, target, func() bool { return c.get(t, "a") == nil })
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"}, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("0")},
	}}
	quotas := c.CoreV1().ResourceQuotas(c.Namespace)
	if _, err := quotas.Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the quota is in force", func() bool {
		another := c.configMap(t, "", "1")
		another.SetGenerateName("b-")
		_, err := c.Dynamic.Resource(configMaps).Namespace(c.Namespace).Create(t.Context(), another, metav1.CreateOptions{})
		return err != nil && strings.Contains(err.Error(), "exceeded quota")
	})
	e := exchanger(t, shared, nil)
	e.Patience = time.Millisecond
	_, err := e.Resume(t.Context(), entry, true)
	wants(t, "a quota", err, "exceeded quota", "refuses to create the old one again too", "kubectl get secret "+entry.Stored.Name+" -n "+c.Namespace)
	if err := quotas.Delete(t.Context(), "none", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	entry = c.find(t, "a")
	if entry == nil {
		t.Fatal("the journal is gone")
	}
	waittest.Until(t, "the old object is created again", func() bool {
		_, err = e.Resume(t.Context(), entry, true)
		return c.get(t, "a") != nil
	})
	wants(t, "restored", err, "The old object was created again")
	c.holds(t, "restored", "a", "1")
}

// Each propagation policy reaches the server: an object that orphans its dependents waits for the garbage collector.
func TestOrphan(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	old := c.create(t, c.configMap(t, "a", "1"))
	child := c.configMap(t, "child", "1")
	child.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: old.GetUID()}})
	c.create(t, child)
	e := exchanger(t, shared, nil)
	e.Propagation, e.Patience = metav1.DeletePropagationOrphan, waittest.Patience
	if _, err := e.Replace(t.Context(), exchange.Target{Resource: configMaps, Old: old, New: c.configMap(t, "a", "2")}); err != nil {
		t.Fatal(err)
	}
	c.holds(t, "orphan", "a", "2")
	if found := c.get(t, "child"); found == nil || slices.ContainsFunc(found.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == old.GetUID() }) {
		t.Errorf("the dependent is %v", found)
	}
}
