package replace_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

var immutabilityPolicies = schema.GroupVersionResource{Group: "guard.holdfast.dev", Version: "v1beta1", Resource: "immutabilitypolicies"}

// warnings are those of the answers to a client since the last call of take.
type warnings struct {
	mu  sync.Mutex
	all []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, text)
}

func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.all
	w.all = nil
	return all
}

// warned is as with a client that records the warnings. The user may replace ConfigMaps, and has the verbs.
func (c cluster) warned(t testing.TB, user string, verbs ...string) (cluster, *warnings) {
	t.Helper()
	all := append([]string{"get", "update", "delete", "create"}, verbs...)
	servertest.Grant(t, c, rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: user, Namespace: c.Namespace},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: all}},
	})
	servertest.AwaitRight(t, c, user, authorizationv1.ResourceAttributes{Namespace: c.Namespace, Verb: all[len(all)-1], Resource: "configmaps"})
	config, said := rest.CopyConfig(shared.As(t, user)), &warnings{}
	config.WarningHandler = said
	other := servertest.NewCluster(config)
	other.Namespace = c.Namespace
	return cluster{other}, said
}

// limit creates a policy for the ConfigMaps of the namespace, and waits until it is in force. Its name is that of the namespace.
func (c cluster) limit(t *testing.T, mode, rule string) {
	t.Helper()
	c.create(t, immutabilityPolicies, `{apiVersion: guard.holdfast.dev/v1beta1, kind: ImmutabilityPolicy, metadata: {name: `+c.Namespace+`}, spec: {
		mode: `+mode+`, resources: [configmaps], rules: ['`+rule+`'], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: `+c.Namespace+`}}}}`)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := c.CoreV1().RESTClient().Delete().AbsPath(c.path(immutabilityPolicies, c.Namespace)).Do(ctx).Error(); err != nil {
			t.Error(err)
		}
	})
	waittest.Until(t, "the policy is in force", func() bool {
		policy, err := c.get(t.Context(), immutabilityPolicies, c.Namespace)
		if err != nil {
			return false
		}
		conditions, _, _ := unstructured.NestedSlice(policy.Object, "status", "conditions")
		return len(conditions) == 1 && conditions[0].(map[string]any)["status"] == "True"
	})
}

// A rule no-delete of a policy keeps an object from being replaced, unless the user has the verb of the rule, or the rule only warns. The
// answer names the rule, and nothing is written.
func TestNoDelete(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mode, rule string
		// verbs are rights of the user.
		verbs []string
		// key is set in the new object.
		key string
		// refused is in the error, with its code. Empty: there is none.
		refused string
		code    int32
		// warning has the name of the policy as POLICY.
		warning string
	}{
		"a rule":                     {rule: "no-delete", refused: `configmaps "a" cannot be deleted: the rule "no-delete" of policy POLICY keeps it`, code: http.StatusConflict},
		"a condition that holds":     {rule: `no-delete while oldSelf.data.state == "used"`, refused: "of policy POLICY keeps it", code: http.StatusConflict},
		"one that does not hold":     {rule: `no-delete while oldSelf.data.state == "free"`},
		"a verb, without the right":  {rule: "no-delete unless retire", refused: "of policy POLICY keeps it; a user that may retire it can delete it", code: http.StatusConflict},
		"with the right":             {rule: "no-delete unless retire", verbs: []string{"retire"}, warning: "configmaps/a: deleted by the right to retire"},
		"with it, an invalid object": {rule: "no-delete unless retire", verbs: []string{"retire"}, key: "not a key", refused: "data[not a key]", code: http.StatusUnprocessableEntity},
		"a rule that warns":          {mode: "warn", rule: "no-delete", warning: `configmaps/a: the rule "no-delete" of policy POLICY warns about its deletion`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			old := c.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {state: used}}`)
			mode := test.mode
			if mode == "" {
				mode = "enforce"
			}
			c.limit(t, mode, test.rule)
			user, said := c.warned(t, "user-of-"+c.Namespace, test.verbs...)
			changed := old
			if test.key != "" {
				changed = with(t, old, "b", "data", test.key)
			}
			named := func(text string) string { return strings.ReplaceAll(text, "POLICY", c.Namespace) }
			var want []string
			if test.warning != "" {
				want = []string{named(test.warning)}
			}
			for _, parameters := range [][]string{{"dryRun", "All"}, nil} {
				_, err := user.replace(t, configMaps, changed, parameters...)
				if test.refused != "" {
					refused(t, strings.Join(parameters, " "), err, test.code, named(test.refused))
				} else if err != nil {
					t.Errorf("%v: %v", parameters, err)
				}
				if got := said.take(); !slices.Equal(got, want) {
					t.Errorf("%v: warnings %q, want %q", parameters, got, want)
				}
				stored, err := c.get(t.Context(), configMaps, "a")
				if err != nil {
					t.Fatal(err)
				}
				if stays := parameters != nil || test.refused != ""; stays != equal(stored.Object, old.Object) || stays != (stored.GetUID() == old.GetUID()) {
					t.Errorf("%v: stored %v, before %v", parameters, stored, old)
				}
			}
		})
	}
}

// A rule no-delete in the annotation of a definition keeps a custom resource from being replaced.
func TestNoDeleteOfDefinition(t *testing.T) {
	t.Parallel()
	boats := defineBoats(t, "kept.example.com")
	c := newCluster(t)
	wood := c.create(t, boats, `{apiVersion: kept.example.com/v1, kind: Boat, metadata: {name: wood}, spec: {hull: wood}}`)
	steel := c.create(t, boats, `{apiVersion: kept.example.com/v1, kind: Boat, metadata: {name: steel}, spec: {hull: steel}}`)
	annotation := []byte(`{"metadata":{"annotations":{"holdfast.dev/immutability":"no-delete while oldSelf.spec.hull == \"wood\""}}}`)
	definition := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/boats.kept.example.com"
	if err := c.CoreV1().RESTClient().Patch(types.MergePatchType).AbsPath(definition).Body(annotation).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the rule is in force", func() bool {
		_, err := c.replace(t, boats, wood, "dryRun", "All")
		return err != nil
	})
	_, err := c.replace(t, boats, with(t, wood, "steel", "spec", "hull"))
	refused(t, "the rule holds", err, http.StatusConflict, `the rule "no-delete while oldSelf.spec.hull == \"wood\"" keeps it`)
	if stored, err := c.get(t.Context(), boats, "wood"); err != nil || !equal(stored.Object, wood.Object) {
		t.Errorf("%v: stored %v, before %v", err, stored, wood)
	}
	if got := c.mustReplace(t, boats, steel); got.GetUID() == steel.GetUID() {
		t.Error("the boat was not replaced")
	}
}
