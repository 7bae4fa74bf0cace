package ownership_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/ownership"
)

// entry returns an entry of managed fields at a second of an hour.
func entry(manager string, operation metav1.ManagedFieldsOperationType, second int, fields string) metav1.ManagedFieldsEntry {
	at := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC))
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: operation, APIVersion: "v1", Time: &at, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

// TestSeen checks which writer an admission webhook sees.
func TestSeen(t *testing.T) {
	const apply, update = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	const a, ab, b = `{"f:data":{"f:a":{}}}`, `{"f:data":{"f:a":{},"f:b":{}}}`, `{"f:data":{"f:b":{}}}`
	type entries = []metav1.ManagedFieldsEntry
	ofStatus := entry("ci", apply, 2, a)
	ofStatus.Subresource = "status"
	for name, test := range map[string]struct {
		manager       string
		live, updated entries
		act           ownership.Act
		command       string
		force         bool
	}{
		"a field manager":   {manager: "kubectl-set", act: ownership.Imperative, command: "kubectl set"},
		"an edit":           {manager: "kubectl-edit", act: ownership.Edit, command: "kubectl edit"},
		"a forced edit":     {manager: "force", act: ownership.Edit, command: "kubectl edit", force: true},
		"client-side apply": {manager: "kubectl-client-side-apply", act: ownership.Apply, command: "kubectl apply"},
		"a program": {
			live: entries{entry("x", update, 1, a)}, updated: entries{entry("x", update, 1, a), entry("y", update, 2, b)}, command: "y",
		},
		"a program, again":            {live: entries{entry("x", update, 1, a)}, updated: entries{entry("x", update, 2, a)}, command: "x"},
		"a program that only removes": {live: entries{entry("x", update, 1, a)}, updated: entries{entry("x", update, 1, a)}, command: "unknown"},
		"in the same second": {
			live: entries{entry("x", update, 1, ab)}, updated: entries{entry("x", update, 1, a), entry("y", update, 1, b)}, command: "y",
		},
		"another manager loses fields": {
			live: entries{entry("x", update, 1, ab)}, updated: entries{entry("x", update, 1, a), entry("y", update, 2, b)}, command: "y",
		},
		"the first server-side apply": {
			manager: "ci", updated: entries{entry("ci", apply, 1, a)}, act: ownership.ServerSideApply, command: "ci", force: true,
		},
		"kubectl apply --server-side": {
			manager: "kubectl", updated: entries{entry("kubectl", apply, 1, a)},
			act: ownership.ServerSideApply, command: "kubectl apply", force: true,
		},
		"a later server-side apply": {
			manager: "ci", live: entries{entry("ci", apply, 1, a)}, updated: entries{entry("ci", apply, 2, a)},
			act: ownership.ServerSideApply, command: "ci", force: true,
		},
		"in the same second, the same fields": {
			manager: "ci", live: entries{entry("ci", apply, 1, a)}, updated: entries{entry("ci", apply, 1, a)},
			act: ownership.ServerSideApply, command: "ci", force: true,
		},
		"in the same second, with a field of its updates": {
			manager: "ci", live: entries{entry("ci", apply, 1, a), entry("ci", update, 1, b)}, updated: entries{entry("ci", apply, 1, ab)},
			act: ownership.ServerSideApply, command: "ci", force: true,
		},
		"an update that takes from its own apply": {
			manager: "ci", live: entries{entry("ci", apply, 1, ab)},
			updated: entries{entry("ci", apply, 1, a), entry("ci", update, 2, b)}, command: "ci",
		},
		"an update beside its own apply": {
			manager: "ci", live: entries{entry("ci", apply, 1, a), entry("ci", update, 1, b)},
			updated: entries{entry("ci", apply, 1, a), entry("ci", update, 2, b)}, command: "ci",
		},
		"an apply of the status": {manager: "ci", updated: entries{ofStatus}, command: "ci"},
		"the apply of another": {
			manager: "ci", live: entries{entry("x", apply, 1, a)}, updated: entries{entry("x", apply, 1, a)}, command: "ci",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := ownership.ParseWriter(ownership.Request{FieldManager: test.manager}.Seen(test.live, test.updated))
			if w.Act != test.act || w.Command != test.command || w.Force != test.force {
				t.Errorf("act %d, command %q, force %t", w.Act, w.Command, w.Force)
			}
		})
	}
}
