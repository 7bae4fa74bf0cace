package referrers

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/references"
)

// fixture is an index without a server, whose clock counts calls.
type fixture struct {
	*Index
	pods                *kindObserver
	configMaps, secrets targetObserver
	ticks               int
	events              []string
}

func newFixture() *fixture {
	f := &fixture{Index: New()}
	f.now = func() time.Time { f.ticks++; return time.Unix(int64(f.ticks), 0) }
	f.pods = &kindObserver{index: f.Index, kind: f.kinds[corev1.Resource("pods")], refs: collector{index: f.Index}}
	f.configMaps, f.secrets = targetObserver{f.Index, references.ConfigMap}, targetObserver{f.Index, references.Secret}
	f.Subscribe(func(kind references.Kind, namespace, name string) {
		f.events = append(f.events, fmt.Sprintf("%s %s/%s", kind, namespace, name))
	})
	return f
}

// pod returns a pod that refers to ConfigMaps.
func pod(namespace, name string, configMaps ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for _, one := range configMaps {
		from := corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: one}}}
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{EnvFrom: []corev1.EnvFromSource{from}})
	}
	return p
}

func configMap(namespace, name, uid string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid)}}
}

// unused returns since when a ConfigMap is unused, in ticks: 0 if it is used, -1 if it does not exist.
func (f *fixture) unused(namespace, name string) int64 {
	since, ok := f.Unused(references.ConfigMap, namespace, name)
	switch {
	case ok:
		return since.Unix()
	case f.targets.get(f.key(references.ConfigMap, namespace, name), namespace, name) == nil:
		return -1
	}
	return 0
}

// The time since which an object is unused begins when the last reference to it ends, and when it is created again.
func TestSince(t *testing.T) {
	t.Parallel()
	f := newFixture()
	check := func(when string, want int64) {
		t.Helper()
		if got := f.unused("shop", "a"); got != want {
			t.Errorf("%s: unused since %d, want %d", when, got, want)
		}
	}
	check("unknown", -1)
	f.configMaps.Change(watch.Added, configMap("shop", "a", "1"), 1)
	check("created", 1)
	f.configMaps.Change(watch.Modified, configMap("shop", "a", "1"), 2)
	check("changed", 1)
	f.pods.Change(watch.Added, pod("shop", "one", "a", "b"), 3)
	f.pods.Change(watch.Added, pod("shop", "two", "a"), 4)
	check("used", 0)
	f.pods.Change(watch.Modified, pod("shop", "one", "b"), 5)
	check("still used", 0)
	f.pods.Change(watch.Deleted, pod("shop", "two", "a"), 6)
	check("no longer used", 2)
	f.configMaps.Change(watch.Modified, configMap("shop", "a", "2"), 7)
	check("created again", 3)
	f.pods.Change(watch.Added, pod("bank", "one", "a"), 8)
	check("used in another namespace", 3)
	f.pods.Replace([]runtime.Object{pod("shop", "three", "a")}, 9)
	check("used in a list", 0)
	f.events = nil
	f.pods.Replace([]runtime.Object{pod("shop", "four", "a")}, 10)
	check("used by another one in a list", 0)
	if len(f.events) > 0 {
		t.Errorf("a list in which an object stays in use has the events %v", f.events)
	}
	f.pods.Replace(nil, 11)
	check("not used in a list", 4)
	if want := []string{"ConfigMap shop/a"}; !slices.Equal(f.events, want) {
		t.Errorf("events %v, want %v", f.events, want)
	}
	f.configMaps.Replace(nil, 12)
	check("deleted in a list", -1)
	if f.total != 0 || len(f.counts) != 0 || len(f.targets.byKey) != 0 || len(f.targets.byName) != 0 {
		t.Errorf("the index is not empty: %d references, %v", f.total, f.targets)
	}
}

// read passes a custom resource to the index.
func (f *fixture) custom(t *testing.T, k *kind, object names, text string) {
	t.Helper()
	i, err := f.read(k.resource, k.find, storage.Stored{Namespace: object.namespace, Name: object.name, Text: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	unlock := f.lock()
	defer unlock()
	f.kinds[k.resource] = k
	f.set(k, object, i.found)
}

func customKind(t *testing.T, resource, rules string) *kind {
	t.Helper()
	k := &kind{custom: true, objects: map[string]map[string][]key{}, find: ruleSet{references.Everything()}}
	k.resource.Resource, k.resource.Group = resource, "example.com"
	if rules != "" {
		parsed, err := references.Parse(rules)
		if err != nil {
			t.Fatal(err)
		}
		k.find = ruleSet{parsed}
	}
	return k
}

// The references of custom resources count where they may: in their own namespace, or in all of them if they have none.
func TestWhere(t *testing.T) {
	t.Parallel()
	f := newFixture()
	for _, namespace := range []string{"shop", "bank"} {
		for _, name := range []string{"a", "b", "c", "pvc-1"} {
			f.configMaps.Change(watch.Added, configMap(namespace, name, namespace+name), 1)
		}
	}
	used := func() string {
		var all []string
		for _, namespace := range []string{"bank", "shop"} {
			for _, name := range []string{"a", "b", "c", "pvc-1"} {
				if f.unused(namespace, name) == 0 {
					all = append(all, namespace+"/"+name)
				}
			}
		}
		return fmt.Sprint(all)
	}
	check := func(when, want string) {
		t.Helper()
		if got := used(); got != want {
			t.Errorf("%s: %s are used, want %s", when, got, want)
		}
	}
	anything, declared := customKind(t, "boats", ""), customKind(t, "docks", "ConfigMap spec")
	f.custom(t, anything, names{"shop", "x"}, `{"spec":{"any":["a"]}}`)
	check("a string in a namespace", "[shop/a]")
	f.custom(t, anything, names{"", "x"}, `{"spec":{"any":["b"]}}`)
	check("a string without a namespace", "[bank/b shop/a shop/b]")
	f.custom(t, anything, names{"", "x"}, `{"spec":{}}`)
	f.custom(t, anything, names{"shop", "x"}, `{}`)
	check("no string", "[]")
	f.custom(t, declared, names{"shop", "x"}, `{"spec":{"name":"a","namespace":"bank"}}`)
	check("another namespace", "[]")
	grant := customKind(t, "referencegrants", "")
	grant.resource, grant.find = grants, declaration{}.rules(grants)
	for _, test := range []struct{ when, spec, want string }{
		{"a grant for nothing", `{}`, "[]"},
		{"a grant for another namespace", `{"from":[{"namespace":"pub"}],"to":[{"group":"","kind":"ConfigMap"}]}`, "[]"},
		{"a grant for another kind", `{"from":[{"namespace":"shop"}],"to":[{"group":"","kind":"Secret"}]}`, "[]"},
		{"a grant for another group", `{"from":[{"namespace":"shop"}],"to":[{"group":"example.com","kind":"ConfigMap"}]}`, "[]"},
		{"a grant for another name", `{"from":[{"namespace":"shop"}],"to":[{"group":"","kind":"ConfigMap","name":"b"}]}`, "[]"},
		{"a grant for the name", `{"from":[{"namespace":"shop"}],"to":[{"group":"","kind":"ConfigMap","name":"a"}]}`, "[bank/a]"},
		{"a grant of another form", `{"from":"shop"}`, "[]"},
		{"a grant with many namespaces", `{"from":[` + strings.Repeat(`{"namespace":"pub"},`, maxGranted) + `{"namespace":"pub"}],"to":[]}`, "[bank/a]"},
		{"a grant", `{"from":[{"namespace":"pub"},{"namespace":"shop"}],"to":[{"kind":"Secret"},{"kind":"ConfigMap"}]}`, "[bank/a]"},
	} {
		f.custom(t, grant, names{"bank", "x"}, `{"spec":`+test.spec+`}`)
		check(test.when, test.want)
	}
	// The first reference is from another namespace, for which there is no grant.
	f.custom(t, declared, names{"", "x"}, `{}`)
	f.custom(t, declared, names{"shop", "x"}, `{}`)
	f.custom(t, declared, names{"other", "x"}, `{"spec":{"name":"a","namespace":"bank"}}`)
	check("a namespace without a grant", "[]")
	f.custom(t, declared, names{"shop", "x"}, `{"spec":{"name":"a","namespace":"bank"}}`)
	check("a namespace with a grant beside it", "[bank/a]")
	f.custom(t, declared, names{"shop", "x"}, `{}`)
	check("a namespace without a grant is left", "[]")
	for i := range maxFrom + 1 {
		f.custom(t, grant, names{"bank", fmt.Sprint("g-", i)}, fmt.Sprintf(`{"spec":{"from":[{"namespace":"n-%d"}],"to":[{"kind":"ConfigMap"}]}}`, i))
	}
	check("too many namespaces with a grant", "[bank/a]")
	for i := range maxFrom + 1 {
		f.custom(t, grant, names{"bank", fmt.Sprint("g-", i)}, `{}`)
	}
	check("fewer namespaces with a grant", "[]")
	f.custom(t, declared, names{"other", "x"}, `{}`)
	f.custom(t, declared, names{"shop", "x"}, `{"spec":{"name":"a","namespace":"bank"}}`)
	check("a grant again", "[bank/a]")
	unlock := f.lock()
	f.remove(grant, names{"bank", "x"})
	unlock()
	check("another namespace that allowed it", "[]")
	if len(f.granted)+len(f.grants) > 0 {
		t.Errorf("grants are left: %v, %v", f.granted, f.grants)
	}
	f.custom(t, declared, names{"", "x"}, `{"spec":{"name":"a","namespace":"bank"}}`)
	check("a namespace that an object without one names", "[bank/a]")
	f.custom(t, declared, names{"", "x"}, `{"spec":{"name":"pvc-${id}","namespace":"bank"}}`)
	check("a placeholder", "[bank/pvc-1]")
	f.custom(t, declared, names{"", "x"}, `{"spec":{"name":"pvc-${id}"}}`)
	check("a placeholder in every namespace", "[bank/pvc-1 shop/pvc-1]")
	f.custom(t, declared, names{"", "x"}, `{}`)
	f.custom(t, declared, names{"shop", "x"}, `{"spec":"pvc-${id}"}`)
	check("a placeholder in a namespace", "[shop/a shop/b shop/c shop/pvc-1]")
	f.custom(t, declared, names{"shop", "x"}, `{}`)
	check("no placeholder", "[]")

	many := "["
	for i := range maxKeys {
		many += fmt.Sprintf(`"x-%d",`, i)
	}
	f.custom(t, anything, names{"shop", "x"}, `{"spec":`+many+`"y"]}`)
	check("too many strings", "[shop/a shop/b shop/c shop/pvc-1]")
	if got := len(anything.objects["shop"]["x"]); got != 1 {
		t.Errorf("an object with many strings has %d references", got)
	}
	unlock = f.lock()
	f.remove(anything, names{"shop", "x"})
	unlock()
	check("fewer strings", "[]")
}

// An object without a namespace with too many references counts as one to each object of the cluster.
func TestMany(t *testing.T) {
	t.Parallel()
	f := newFixture()
	for _, namespace := range []string{"shop", "bank"} {
		f.configMaps.Change(watch.Added, configMap(namespace, "a", namespace), 1)
	}
	check := func(when string, used bool) {
		t.Helper()
		for _, namespace := range []string{"shop", "bank"} {
			if got := f.unused(namespace, "a") == 0; got != used {
				t.Errorf("%s: %s/a is used: %t", when, namespace, got)
			}
		}
	}
	anything, declared := customKind(t, "boats", ""), customKind(t, "docks", "ConfigMap spec[*]")
	texts := func(format string, count int) string {
		all := make([]string, count)
		for i := range all {
			all[i] = fmt.Sprintf(format, i)
		}
		return `{"spec":[` + strings.Join(all, ",") + `]}`
	}
	for _, test := range []struct {
		kind   *kind
		format string
		most   int
	}{{anything, `"x-%d"`, maxClusterKeys - 1}, {declared, `"x-%d-${a}"`, maxPatterns}} {
		f.custom(t, test.kind, names{"", "x"}, texts(test.format, test.most))
		check("many references", false)
		f.custom(t, test.kind, names{"", "x"}, texts(test.format, test.most+1))
		check("too many references", true)
		if got := len(test.kind.objects[""]["x"]) + len(test.kind.patterns); got != 1 {
			t.Errorf("an object with too many references has %d", got)
		}
		if found := f.referrersOf(references.ConfigMap, "bank", "a"); len(found) != 1 || !found[0].all {
			t.Errorf("referrers %v", found)
		}
		f.custom(t, test.kind, names{"", "x"}, `{}`)
		check("no reference", false)
	}
}

// The objects of a namespace are known without a look at others, also after deletions.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	f := newFixture()
	want := map[string]bool{}
	random := rand.New(rand.NewPCG(1, 38))
	for i := range 2000 {
		namespace, name := fmt.Sprint("n-", random.IntN(3)), fmt.Sprint("c-", random.IntN(100))
		event := watch.Added
		if want[namespace+"/"+name] = true; random.IntN(2) == 0 {
			event = watch.Deleted
			delete(want, namespace+"/"+name)
		}
		f.configMaps.Change(event, configMap(namespace, name, fmt.Sprint(i)), 1)
		if i%100 != 99 {
			continue
		}
		got := map[string]bool{}
		for n := range 3 {
			for one := range f.targets.of(fmt.Sprint("n-", n)) {
				got[one.namespace+"/"+one.name] = one.namespace == fmt.Sprint("n-", n)
			}
		}
		all := 0
		for range f.targets.of("") {
			all++
		}
		if !maps.Equal(got, want) || all != len(want) {
			t.Fatalf("%d: %d and %d objects, want %d", i, len(got), all, len(want))
		}
	}
	f.configMaps.Replace(nil, 2)
	if len(f.targets.in) != 0 {
		t.Errorf("%v is left", f.targets.in)
	}
}

// The pins of a pod stay until the pod is gone, whatever happens to other objects with its name.
func TestPins(t *testing.T) {
	t.Parallel()
	f := newFixture()
	pinned := pod("shop", "web")
	pinned.Spec.NodeName = "n1"
	pinned.Status.Conditions = []corev1.PodCondition{{Type: references.Pinned, Status: corev1.ConditionTrue, Message: "configmaps/a 1"}}
	f.pods.Change(watch.Added, pinned, 1)
	check := func(when string, want ...Pin) {
		t.Helper()
		if got := f.pinsOf(references.ConfigMap, "shop", "a"); !slices.Equal(got, want) {
			t.Errorf("%s: pins %v, want %v", when, got, want)
		}
	}
	web := Pin{Pod: "web", Node: "n1", UID: "1"}
	check("reported", web)
	deployments := f.kinds[schema.GroupResource{Group: "apps", Resource: "deployments"}]
	observer := &kindObserver{index: f.Index, kind: deployments, refs: collector{index: f.Index}}
	observer.Change(watch.Added, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}, 2)
	observer.Change(watch.Deleted, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}, 3)
	check("a Deployment with the name is deleted", web)
	observer.Replace(nil, 4)
	check("Deployments are listed", web)
	f.pods.Change(watch.Deleted, pod("bank", "web"), 5)
	check("a pod of another namespace is deleted", web)
	f.pods.Change(watch.Modified, pod("shop", "web"), 6)
	check("no longer reported")
	f.pods.Change(watch.Modified, pinned, 7)
	f.pods.Change(watch.Deleted, pinned, 8)
	check("deleted")
	f.pods.Replace([]runtime.Object{pinned}, 9)
	check("listed", web)
	f.pods.Replace(nil, 10)
	check("gone in a list")
	if len(f.pins) > 0 {
		t.Errorf("%v is left", f.pins)
	}
}

// A list of unused objects has a bound, and says how many it leaves out.
func TestUnusedBound(t *testing.T) {
	t.Parallel()
	f := newFixture()
	for i := range maxUnused + 5 {
		f.configMaps.Change(watch.Added, configMap("shop", fmt.Sprintf("c-%05d", i), "1"), 1)
	}
	list := f.Index.unused(references.ConfigMap, "shop", true)
	if len(list.Items) != maxUnused || list.More != 5 || list.Items[maxUnused-1].Name != fmt.Sprintf("c-%05d", maxUnused-1) {
		t.Errorf("%d objects, and %d more", len(list.Items), list.More)
	}
	if list := f.Index.unused(references.ConfigMap, "bank", true); len(list.Items)+list.More != 0 {
		t.Errorf("another namespace has %v", list)
	}
}

// Objects with equal hashes are different objects.
func TestCollision(t *testing.T) {
	t.Parallel()
	f := newFixture()
	first, second := &target{kind: references.ConfigMap, names: names{"shop", "a"}}, &target{kind: references.ConfigMap, names: names{"shop", "b"}}
	of := f.key(references.ConfigMap, "shop", "a")
	f.targets.byKey[of], first.collides = first, second
	if f.targets.get(of, "shop", "b") != second || f.targets.get(of, "shop", "c") != nil {
		t.Error("an object is another one with the same key")
	}
	called := 0
	f.targets.each(of, func(*target) { called++ })
	if called != 2 {
		t.Errorf("a reference concerns %d objects, want 2", called)
	}
}

// The rules of a definition are those that it declares, if they are not malformed.
func TestDeclaration(t *testing.T) {
	t.Parallel()
	boats, gateways := schema.GroupResource{Group: "example.com", Resource: "boats"}, schema.GroupResource{Group: "gateway.networking.k8s.io", Resource: "gateways"}
	for name, test := range map[string]struct {
		declaration
		resource schema.GroupResource
		// rules is the number of rule sets, and everything says that one of them is every string.
		rules      int
		everything bool
	}{
		"nothing":            {declaration{}, boats, 1, true},
		"Gateway API":        {declaration{}, gateways, 1, false},
		"declared":           {declaration{declared: true, text: "Secret spec.a"}, gateways, 1, false},
		"declared none":      {declaration{declared: true}, boats, 1, false},
		"malformed":          {declaration{declared: true, text: "Secret"}, boats, 1, true},
		"converted":          {declaration{declared: true, text: "Secret spec.a", converted: true}, boats, 2, true},
		"converted by rules": {declaration{converted: true}, gateways, 1, false},
	} {
		rules := test.declaration.rules(test.resource)
		if len(rules) != test.rules || slices.ContainsFunc(rules, (*references.Rules).IsEverything) != test.everything {
			t.Errorf("%s: %d rules, %v", name, len(rules), rules)
		}
	}
}
