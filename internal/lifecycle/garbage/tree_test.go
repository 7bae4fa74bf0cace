package garbage_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"holdfast.dev/holdfast/internal/waittest"
)

// rootCAName is a ConfigMap that the controllers keep in every namespace. The tests do
// not count it.
const rootCAName = "kube-root-ca.crt"

// tree is a namespace with ConfigMaps that own each other.
type tree struct {
	cluster
	namespace string
}

func newTree(t testing.TB, c cluster, namespace string) tree {
	t.Helper()
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := c.CoreV1().Namespaces().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return tree{cluster: c, namespace: namespace}
}

func (tr tree) configMaps() typedcorev1.ConfigMapInterface {
	return tr.CoreV1().ConfigMaps(tr.namespace)
}

// ref returns a reference to a ConfigMap of the tree. With "!" before the name the
// reference has blockOwnerDeletion.
func (tr tree) ref(t testing.TB, owner string) metav1.OwnerReference {
	t.Helper()
	name, blocks := strings.CutPrefix(owner, "!")
	found, err := tr.configMaps().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: found.UID, BlockOwnerDeletion: &blocks}
}

// create creates a ConfigMap with owners.
func (tr tree) create(t testing.TB, name string, owners ...string) {
	t.Helper()
	var refs []metav1.OwnerReference
	for _, owner := range owners {
		refs = append(refs, tr.ref(t, owner))
	}
	tr.createWith(t, metav1.ObjectMeta{Name: name, OwnerReferences: refs})
}

func (tr tree) createWith(t testing.TB, meta metav1.ObjectMeta) {
	t.Helper()
	_, err := tr.configMaps().Create(t.Context(), &corev1.ConfigMap{ObjectMeta: meta}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// patch changes the metadata of a ConfigMap.
func (tr tree) patch(t testing.TB, name, format string, args ...any) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":`+format+`}`, args...)
	_, err := tr.configMaps().Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// delete deletes a ConfigMap with a propagation policy. It sets the finalizer of the
// policy first, so that the policy works on every server.
func (tr tree) delete(t testing.TB, name string, policy metav1.DeletionPropagation) {
	t.Helper()
	switch policy {
	case metav1.DeletePropagationForeground:
		tr.patch(t, name, `{"finalizers":["foregroundDeletion"]}`)
	case metav1.DeletePropagationOrphan:
		tr.patch(t, name, `{"finalizers":["orphan"]}`)
	}
	if err := tr.configMaps().Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		t.Fatal(err)
	}
}

// state lists the ConfigMaps with their owners: "child<owner". One that is being deleted
// has a minus before its name.
func (tr tree) state(t testing.TB) string {
	t.Helper()
	list, err := tr.configMaps().List(t.Context(), metav1.ListOptions{})
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

// wait waits until the state is as wanted.
func (tr tree) wait(t testing.TB, want string) {
	t.Helper()
	got := ""
	defer func() {
		if t.Failed() {
			t.Logf("got %q, want %q", got, want)
		}
	}()
	waittest.Until(t, "tree", func() bool {
		got = tr.state(t)
		return got == want
	})
}
