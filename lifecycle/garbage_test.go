package lifecycle_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestOwnersAreCollected(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	const background, foreground, orphan = metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan
	tests := map[string]struct {
		plant  func(t *testing.T, tr tree)
		policy metav1.DeletionPropagation
		want   string
	}{
		"background": {
			plant: func(t *testing.T, tr tree) {
				tr.plant(t, "child", "root")
				tr.plant(t, "grandchild", "child")
				tr.plant(t, "other")
			},
			policy: background, want: "other",
		},
		"one of two owners": {
			plant: func(t *testing.T, tr tree) {
				tr.plant(t, "stays")
				tr.plant(t, "child", "root", "stays")
			},
			policy: background, want: "child<stays stays",
		},
		"foreground": {
			plant: func(t *testing.T, tr tree) {
				tr.plant(t, "child", "!root")
				tr.plant(t, "grandchild", "!child")
			},
			policy: foreground, want: "",
		},
		"foreground waits for who blocks": {
			plant: func(t *testing.T, tr tree) {
				tr.plant(t, "child", "!root")
				tr.plant(t, "free", "root")
				tr.patch(t, "child", `{"finalizers":["example.com/hold"]}`)
			},
			policy: foreground, want: "-child<root -root",
		},
		"foreground waits for a grandchild": {
			plant: func(t *testing.T, tr tree) {
				tr.plant(t, "child", "!root")
				tr.plant(t, "grandchild", "!child")
				tr.patch(t, "child", `{"finalizers":["foregroundDeletion"]}`)
				tr.patch(t, "grandchild", `{"finalizers":["example.com/hold"]}`)
			},
			policy: foreground, want: "-child<root -grandchild<child -root",
		},
		"foreground does not wait for others": {
			plant: func(t *testing.T, tr tree) {
				tr.plant(t, "child", "root")
				tr.patch(t, "child", `{"finalizers":["example.com/hold"]}`)
			},
			policy: foreground, want: "-child<root",
		},
		"foreground keeps who has another owner": {
			plant: func(t *testing.T, tr tree) {
				tr.plant(t, "stays")
				tr.plant(t, "child", "!root", "stays")
			},
			policy: foreground, want: "child<stays stays",
		},
		"orphan": {
			plant: func(t *testing.T, tr tree) {
				tr.plant(t, "child", "root")
				tr.plant(t, "second", "!root")
				tr.plant(t, "grandchild", "child")
			},
			policy: orphan, want: "child grandchild<child second",
		},
		"cycle": {
			plant: func(t *testing.T, tr tree) {
				tr.plant(t, "child", "root")
				root := tr.ref(t, "child")
				tr.patch(t, "root", `{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"child","uid":%q}]}`, root.UID)
			},
			policy: background, want: "",
		},
		"cycle in the foreground": {
			plant: func(t *testing.T, tr tree) {
				tr.plant(t, "child", "!root")
				root := tr.ref(t, "child")
				tr.patch(t, "root", `{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"child","uid":%q,"blockOwnerDeletion":true}]}`, root.UID)
			},
			policy: foreground, want: "",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTree(t, c, strings.ReplaceAll(name, " ", "-"))
			tr.plant(t, "root")
			test.plant(t, tr)
			before := tr.state(t)
			tr.patch(t, "root", `{"annotations":{"changed":"true"}}`)
			if after := tr.state(t); before != after {
				t.Errorf("before anything is deleted: %s, want %s", after, before)
			}
			tr.cut(t, "root", test.policy)
			tr.wait(t, test.want)
		})
	}
}
