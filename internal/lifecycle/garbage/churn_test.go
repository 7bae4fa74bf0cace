package garbage_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/waittest"
)

// TestForegroundDuringWrites deletes an owner in the foreground while clients create
// dependents that block it, and dependents that own each other. The deletion waits for every
// dependent, and then everything is gone.
func TestForegroundDuringWrites(t *testing.T) {
	t.Parallel()
	tr := newTree(t, shared, "foreground-during-writes")
	tr.create(t, "stays")
	tr.create(t, "kept", "!stays")
	tr.create(t, "root")
	owner := tr.ref(t, "!root")
	configMaps := tr.configMaps()
	var created atomic.Int64
	var writers errgroup.Group
	for writer := range 4 {
		writers.Go(func() error {
			for i := range 25 {
				name := fmt.Sprintf("child-%d-%d", writer, i)
				child, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
					Name: name, OwnerReferences: []metav1.OwnerReference{owner},
				}}, metav1.CreateOptions{})
				if err != nil {
					return err
				}
				blocks := true
				own := metav1.OwnerReference{
					APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: child.UID, BlockOwnerDeletion: &blocks,
				}
				grandchild, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
					Name: name + "-child", OwnerReferences: []metav1.OwnerReference{own},
				}}, metav1.CreateOptions{})
				if err != nil {
					return err
				}
				// The objects of every second pair own and block each other.
				if i%2 == 0 {
					patch := fmt.Appendf(nil, `{"metadata":{"ownerReferences":[`+
						`{"apiVersion":"v1","kind":"ConfigMap","name":"root","uid":%q,"blockOwnerDeletion":true},`+
						`{"apiVersion":"v1","kind":"ConfigMap","name":%q,"uid":%q,"blockOwnerDeletion":true}]}}`,
						owner.UID, grandchild.Name, grandchild.UID)
					_, err := configMaps.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
					// The child may be deleted already.
					if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
						return err
					}
				}
				created.Add(1)
			}
			return nil
		})
	}
	waittest.Until(t, "writes under way", func() bool { return created.Load() > 10 })
	tr.delete(t, "root", metav1.DeletePropagationForeground)
	if err := writers.Wait(); err != nil {
		t.Fatal(err)
	}
	// The objects of a pair that own each other stay when the root is gone, because each
	// still has an owner. The test deletes one of them, and the collector the other.
	waittest.Until(t, "root gone", func() bool {
		_, err := configMaps.Get(t.Context(), "root", metav1.GetOptions{})
		return notFound(t, err)
	})
	waittest.Until(t, "all dependents of the root are gone, and nothing else", func() bool {
		state := tr.state(t)
		for _, line := range strings.Fields(state) {
			name, owners, _ := strings.Cut(strings.TrimPrefix(line, "-"), "<")
			if !strings.Contains("<"+owners+"<", "<"+name+"-child<") {
				continue
			}
			if err := configMaps.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				t.Fatal(err)
			}
		}
		return state == "kept<stays stays"
	})
}

// TestNamespaceIsDeletedWithOwners deletes a namespace and an owner in it while clients write
// to it. Another namespace keeps all its objects.
func TestNamespaceIsDeletedWithOwners(t *testing.T) {
	t.Parallel()
	c := shared
	widgets := c.defineWidgets(t, "together.example.com")
	goes, stays := newTree(t, c, "goes"), newTree(t, c, "stays")
	var acknowledged [2]atomic.Int64
	var writers errgroup.Group
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	started := make(chan struct{}, 1)
	for i, tr := range []tree{goes, stays} {
		tr.create(t, "root")
		root := tr.ref(t, "root")
		for writer := range 2 {
			writers.Go(func() error {
				for n := 0; ctx.Err() == nil && n < 200; n++ {
					name := fmt.Sprintf("%d-%d", writer, n)
					_, err := widgets.Namespace(tr.namespace).Create(t.Context(), widgets.object("w-"+name, root), metav1.CreateOptions{})
					if err == nil {
						_, err = c.CoreV1().Secrets(tr.namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
							Name: "s-" + name, OwnerReferences: []metav1.OwnerReference{root},
						}}, metav1.CreateOptions{})
					}
					if tr.namespace == "goes" && (apierrors.IsForbidden(err) || apierrors.IsNotFound(err)) {
						return nil
					}
					if err != nil {
						return err
					}
					if acknowledged[i].Add(1) == 20 && tr.namespace == "goes" {
						started <- struct{}{}
					}
				}
				return nil
			})
		}
	}
	<-started
	goes.delete(t, "root", metav1.DeletePropagationBackground)
	if err := c.CoreV1().Namespaces().Delete(t.Context(), "goes", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "namespace gone", func() bool {
		_, err := c.CoreV1().Namespaces().Get(t.Context(), "goes", metav1.GetOptions{})
		return notFound(t, err)
	})
	stop()
	if err := writers.Wait(); err != nil {
		t.Fatal(err)
	}
	count := func(namespace string) (n [2]int) {
		t.Helper()
		found, err := widgets.Namespace(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		secrets, err := c.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return [2]int{len(found.Items), len(secrets.Items)}
	}
	if left := count("goes"); left != [2]int{} {
		t.Errorf("left in a namespace that is gone: %v", left)
	}
	want := int(acknowledged[1].Load())
	if kept := count("stays"); slices.Min(kept[:]) < want {
		t.Errorf("kept in the other namespace: %v of %d", kept, want)
	}
}
