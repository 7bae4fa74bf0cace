package garbage_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/waittest"
)

// A kept dependent stays when its owner is deleted, and the owner does not wait for it. One Event says so. When the dependent need not
// be kept any more, the collector deletes it.
func TestKeptDependents(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]metav1.DeletionPropagation{
		"kept-background": metav1.DeletePropagationBackground, "kept-foreground": metav1.DeletePropagationForeground,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTree(t, shared, name)
			tr.create(t, "root")
			tr.create(t, "child", "!root")
			tr.create(t, "grandchild", "!child")
			tr.create(t, "kept", "!root")
			tr.patch(t, "kept", `{"annotations":{"holdfast.dev/keep":"always"}}`)
			tr.delete(t, "root", policy)
			tr.wait(t, "kept<root")
			events := func() (found []string) {
				list, err := tr.CoreV1().Events(tr.namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=kept"})
				if err != nil {
					t.Fatal(err)
				}
				for _, event := range list.Items {
					found = append(found, event.Reason+": "+event.Message)
				}
				return found
			}
			waittest.Until(t, "an Event says that the dependent stays", func() bool { return len(events()) > 0 })
			// The collector tries again after this change.
			tr.patch(t, "kept", `{"labels":{"changed":"yes"}}`)
			tr.patch(t, "kept", `{"annotations":{"holdfast.dev/keep":null}}`)
			tr.wait(t, "")
			found := events()
			if len(found) != 1 || !strings.HasPrefix(found[0], `ObjectKept: its owner is deleted, and the garbage collector leaves it: configmaps "kept" cannot be deleted`) {
				t.Errorf("events: %q", found)
			}
		})
	}
}
