package lifecycle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/apiserver/servertest"
)

// tree is a namespace of ConfigMaps that own each other.
type tree struct {
	cluster
	namespace string
}

func newTree(t testing.TB, c cluster, namespace string) tree {
	t.Helper()
	c.createNamespace(t, namespace)
	return tree{cluster: c, namespace: namespace}
}

// ref is a reference to a ConfigMap of the tree; with "!" before its name, one
// that blocks the owner.
func (tr tree) ref(t testing.TB, owner string) metav1.OwnerReference {
	t.Helper()
	name, blocks := strings.CutPrefix(owner, "!")
	found, err := tr.CoreV1().ConfigMaps(tr.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: found.UID, BlockOwnerDeletion: &blocks}
}

// plant creates a ConfigMap with owners.
func (tr tree) plant(t testing.TB, name string, owners ...string) {
	t.Helper()
	var refs []metav1.OwnerReference
	for _, owner := range owners {
		refs = append(refs, tr.ref(t, owner))
	}
	tr.plantWith(t, metav1.ObjectMeta{Name: name, OwnerReferences: refs})
}

func (tr tree) plantWith(t testing.TB, meta metav1.ObjectMeta) {
	t.Helper()
	if _, err := tr.CoreV1().ConfigMaps(tr.namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// patch changes the metadata of a ConfigMap.
func (tr tree) patch(t testing.TB, name, format string, args ...any) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":`+format+`}`, args...)
	if _, err := tr.CoreV1().ConfigMaps(tr.namespace).Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// cut deletes a ConfigMap under a policy. Its finalizer is set first, so that
// the policy holds on every server.
func (tr tree) cut(t testing.TB, name string, policy metav1.DeletionPropagation) {
	t.Helper()
	switch policy {
	case metav1.DeletePropagationForeground:
		tr.patch(t, name, `{"finalizers":["foregroundDeletion"]}`)
	case metav1.DeletePropagationOrphan:
		tr.patch(t, name, `{"finalizers":["orphan"]}`)
	}
	if err := tr.CoreV1().ConfigMaps(tr.namespace).Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		t.Fatal(err)
	}
}

// state is what stands: names with their owners, deleted ones with a minus.
func (tr tree) state(t testing.TB) string {
	t.Helper()
	list, err := tr.CoreV1().ConfigMaps(tr.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, item := range list.Items {
		if item.Name == rootCAName {
			continue
		}
		line := item.Name
		if item.DeletionTimestamp != nil {
			line = "-" + line
		}
		for _, ref := range item.OwnerReferences {
			line += "<" + ref.Name
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, " ")
}

func (tr tree) wait(t testing.TB, want string) {
	t.Helper()
	got := ""
	defer func() {
		if t.Failed() {
			t.Logf("got %q, want %q", got, want)
		}
	}()
	servertest.Eventually(t, "tree", func() bool {
		got = tr.state(t)
		return got == want
	})
}
