package collection_test

import (
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/series"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestRecreated does not collect an object again that was created again with the same content, also after a change of the leader.
func TestRecreated(t *testing.T) {
	t.Parallel()
	f := newStopped(t)
	stop := f.start()
	secret := &corev1.Secret{
		ObjectMeta: meta("token"), Immutable: ptr.To(true), Data: map[string][]byte{"value": []byte("swordfish")}, Type: "example.com/a",
	}
	createSecret := func() {
		if _, err := f.CoreV1().Secrets(f.Namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	createSecret()
	for _, name := range []string{"same", "changed", "leader"} {
		f.create(meta(name))
	}
	f.pass(time.Minute)
	for _, name := range []string{"same", "changed", "leader"} {
		f.awaitMarked(name)
	}
	f.pass(time.Minute)
	for _, name := range []string{"same", "changed", "leader"} {
		f.awaitGone(name)
	}
	f.awaitEvent("token", "Collected", "")
	f.create(meta("same"))
	createSecret()
	f.awaitEvent("same", "Recreated", "the server does not delete it again")
	f.awaitEvent("token", "Recreated", "the server does not delete it again")
	if _, err := f.CoreV1().ConfigMaps(f.Namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: meta("changed"), Immutable: ptr.To(true), Data: map[string]string{"a": "other"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	stop()
	f.start()
	f.create(meta("leader"))
	f.awaitEvent("leader", "Recreated", "")
	f.pass(time.Minute)
	f.awaitMarked("changed")
	f.pass(time.Minute)
	f.awaitGone("changed")
	f.collectSentinel()
	for _, name := range []string{"same", "leader"} {
		found := f.get(name)
		if found == nil || found.Annotations[series.RecreatedAnnotation] == "" || found.Annotations[series.UnusedSinceAnnotation] != "" {
			t.Errorf("%s is collected again: %v", name, found)
		}
	}
	stored, err := f.CoreV1().Secrets(metav1.NamespaceSystem).Get(t.Context(), "holdfast-collected", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for part, data := range stored.Data {
		for _, text := range []string{"same", "token", "swordfish", "value"} {
			if strings.Contains(string(data), text) {
				t.Errorf("the memory has %q in %s", text, part)
			}
		}
	}
	if size := len(stored.Data[f.Namespace]); size == 0 || size%48 != 0 {
		t.Errorf("the memory of the namespace has %d bytes", size)
	}
}

// TestBrokenMemory begins anew if a client has broken the Secret with the memory.
func TestBrokenMemory(t *testing.T) {
	t.Parallel()
	f := newStopped(t)
	// A server that could not create this namespace in its start tries again while it serves.
	waittest.Until(t, "the broken Secret is created", func() bool {
		_, err := f.CoreV1().Secrets(metav1.NamespaceSystem).Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "holdfast-collected"}, Data: map[string][]byte{"_key": []byte("short"), "default": []byte("x")},
		}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		return err == nil
	})
	f.start()
	f.collectSentinel()
	if err := f.CoreV1().Secrets(metav1.NamespaceSystem).Delete(t.Context(), "holdfast-collected", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.collectSentinel()
	found, err := f.CoreV1().Secrets(metav1.NamespaceSystem).Get(t.Context(), "holdfast-collected", metav1.GetOptions{})
	if err != nil || len(found.Data["_key"]) != 32 || len(found.Data["default"]) != 48 {
		t.Errorf("%v, %v", found, err)
	}
}

// TestIncomplete collects nothing while not all references are known, and says so once.
func TestIncomplete(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(meta("a"))
	f.pass(time.Minute)
	f.awaitMarked("a")
	everywhere := named{}
	f.index.change(everywhere, func() { f.index.incomplete = "boats.example.com is not served" })
	f.create(meta("b"))
	f.pass(time.Minute)
	for _, name := range []string{"a", "b"} {
		f.awaitEvent(name, "CollectionWaits", "not all references to it are known: boats.example.com is not served")
	}
	waittest.Until(t, "two objects wait", func() bool { return f.metric("holdfast_collection_waiting_objects", "incomplete") == 2 })
	for range 3 {
		f.index.change(everywhere, func() {})
		f.annotate("a", map[string]any{"example.com/a": f.clock.Now().String()}, metav1.PatchOptions{})
		f.pass(time.Minute)
	}
	f.index.change(everywhere, func() { f.index.incomplete = "ships.example.com is not served" })
	f.awaitEvent("a", "CollectionWaits", "ships.example.com is not served")
	if f.get("a") == nil || f.get("b").Annotations[series.UnusedSinceAnnotation] != "" {
		t.Error("an object was marked or deleted")
	}
	if got := f.messages("a", "CollectionWaits"); len(got) != 2 {
		t.Errorf("%d Events: %q", len(got), got)
	}
	f.index.change(everywhere, func() { f.index.incomplete = "" })
	f.awaitGone("a")
	f.awaitMarked("b")
	f.pass(time.Minute)
	f.awaitGone("b")
	waittest.Until(t, "no object waits", func() bool { return f.metric("holdfast_collection_waiting_objects", "incomplete") == 0 })
}

// TestRefused leaves an object that admission keeps, says so once, and tries again later.
func TestRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	policies := f.AdmissionregistrationV1()
	_, err := policies.ValidatingAdmissionPolicies().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "stays"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				ResourceNames: []string{"refused"},
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
				},
			}}},
			Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "it must stay"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := policies.ValidatingAdmissionPolicyBindings().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "stays"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: "stays", ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.create(meta("refused"))
	waittest.Until(t, "the policy is in force", func() bool {
		return f.CoreV1().ConfigMaps(f.Namespace).Delete(t.Context(), "refused", metav1.DeleteOptions{DryRun: []string{"All"}}) != nil
	})
	f.pass(time.Minute)
	f.awaitMarked("refused")
	f.pass(time.Minute)
	f.awaitEvent("refused", "CollectionRefused", "it must stay")
	waittest.Until(t, "one object is refused", func() bool { return f.metric("holdfast_collection_waiting_objects", "refused") == 1 })
	f.pass(time.Minute)
	f.collectSentinel()
	if got := f.messages("refused", "CollectionRefused"); len(got) != 1 {
		t.Errorf("%d Events: %q", len(got), got)
	}
	if err := policies.ValidatingAdmissionPolicyBindings().Delete(t.Context(), "stays", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the object is gone when the policy is", func() bool {
		f.pass(10 * time.Second)
		return f.get("refused") == nil
	})
	waittest.Until(t, "no object is refused", func() bool { return f.metric("holdfast_collection_waiting_objects", "refused") == 0 })
}

// TestFinalizers leaves an object that waits for a finalizer.
func TestFinalizers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	object := meta("a")
	object.Finalizers = []string{"example.com/wait"}
	f.create(object)
	f.pass(time.Minute)
	f.awaitMarked("a")
	f.pass(time.Minute)
	waittest.Until(t, "the deletion of a begins", func() bool {
		f.pass(time.Second) // the controller may have stored the mark, and not yet noted its time
		return f.get("a").DeletionTimestamp != nil
	})
	f.collectSentinel()
	if err := f.tryPatch("a", map[string]any{"finalizers": nil}, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	f.awaitGone("a")
	if got := f.metric("holdfast_collected_total", references.ConfigMap.String()); got != 2 {
		t.Errorf("%v objects were collected, want 2", got)
	}
}

// TestChangedBeforeDelete leaves an object that a client changes, or creates again, between the read of the references and the delete. The controller
// cannot know it then: only the preconditions of the delete can.
func TestChangedBeforeDelete(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	changed := make(chan string, 2)
	before := func(name string, change func() error) {
		f.index.change(f.object(name), func() {
			f.index.before[f.object(name)] = func() {
				if err := change(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				changed <- name
			}
		})
	}
	before("labeled", func() error {
		return f.tryPatch("labeled", map[string]any{"labels": map[string]string{series.CollectLabel: "never"}}, metav1.PatchOptions{})
	})
	before("recreated", func() error {
		configMaps := f.CoreV1().ConfigMaps(f.Namespace)
		if err := configMaps.Delete(t.Context(), "recreated", metav1.DeleteOptions{}); err != nil {
			return err
		}
		_, err := configMaps.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "recreated"}, Immutable: ptr.To(true), Data: map[string]string{"a": "other"},
		}, metav1.CreateOptions{})
		return err
	})
	names := []string{"labeled", "recreated"}
	for _, name := range names {
		f.create(meta(name))
	}
	f.pass(time.Minute)
	for _, name := range names {
		f.awaitMarked(name)
	}
	f.pass(time.Minute)
	for range names {
		waittest.Receive(t, "a change before the delete", changed)
	}
	f.collectSentinel()
	for _, name := range names {
		if f.get(name) == nil {
			t.Errorf("%s is deleted, although it was changed after the references were read", name)
		}
		if got := f.messages(name, "Collected"); len(got) > 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
}
