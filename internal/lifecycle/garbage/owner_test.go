package garbage_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestOwnersAreCollected(t *testing.T) {
	t.Parallel()
	c := shared
	const (
		background = metav1.DeletePropagationBackground
		foreground = metav1.DeletePropagationForeground
		orphan     = metav1.DeletePropagationOrphan
	)
	tests := map[string]struct {
		create func(t *testing.T, tr tree)
		policy metav1.DeletionPropagation
		want   string
	}{
		"background": {
			create: func(t *testing.T, tr tree) {
				tr.create(t, "child", "root")
				tr.create(t, "grandchild", "child")
				tr.create(t, "other")
			},
			policy: background, want: "other",
		},
		"one of two owners": {
			create: func(t *testing.T, tr tree) {
				tr.create(t, "stays")
				tr.create(t, "child", "root", "stays")
			},
			policy: background, want: "child<stays stays",
		},
		"foreground": {
			create: func(t *testing.T, tr tree) {
				tr.create(t, "child", "!root")
				tr.create(t, "grandchild", "!child")
			},
			policy: foreground, want: "",
		},
		"foreground waits for a dependent that blocks": {
			create: func(t *testing.T, tr tree) {
				tr.create(t, "child", "!root")
				tr.create(t, "free", "root")
				tr.patch(t, "child", `{"finalizers":["example.com/hold"]}`)
			},
			policy: foreground, want: "-child<root -root",
		},
		"foreground waits for a grandchild": {
			create: func(t *testing.T, tr tree) {
				tr.create(t, "child", "!root")
				tr.create(t, "grandchild", "!child")
				tr.patch(t, "child", `{"finalizers":["foregroundDeletion"]}`)
				tr.patch(t, "grandchild", `{"finalizers":["example.com/hold"]}`)
			},
			policy: foreground, want: "-child<root -grandchild<child -root",
		},
		"foreground does not wait for a dependent that does not block": {
			create: func(t *testing.T, tr tree) {
				tr.create(t, "child", "root")
				tr.patch(t, "child", `{"finalizers":["example.com/hold"]}`)
			},
			policy: foreground, want: "-child<root",
		},
		"foreground keeps a dependent with another owner": {
			create: func(t *testing.T, tr tree) {
				tr.create(t, "stays")
				tr.create(t, "child", "!root", "stays")
			},
			policy: foreground, want: "child<stays stays",
		},
		"orphan": {
			create: func(t *testing.T, tr tree) {
				tr.create(t, "child", "root")
				tr.create(t, "second", "!root")
				tr.create(t, "grandchild", "child")
			},
			policy: orphan, want: "child grandchild<child second",
		},
		"cycle": {
			create: func(t *testing.T, tr tree) {
				tr.create(t, "child", "root")
				root := tr.ref(t, "child")
				tr.patch(t, "root", `{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"child","uid":%q}]}`, root.UID)
			},
			policy: background, want: "",
		},
		"cycle in the foreground": {
			create: func(t *testing.T, tr tree) {
				tr.create(t, "child", "!root")
				root := tr.ref(t, "child")
				tr.patch(t, "root", `{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"child","uid":%q,`+
					`"blockOwnerDeletion":true}]}`, root.UID)
			},
			policy: foreground, want: "",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTree(t, c, strings.ReplaceAll(name, " ", "-"))
			tr.create(t, "root")
			test.create(t, tr)
			before := tr.state(t)
			tr.patch(t, "root", `{"annotations":{"changed":"true"}}`)
			if after := tr.state(t); before != after {
				t.Errorf("before anything is deleted: %s, want %s", after, before)
			}
			tr.delete(t, "root", test.policy)
			tr.wait(t, test.want)
		})
	}
}
