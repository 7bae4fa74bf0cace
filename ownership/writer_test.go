package ownership_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/ownership"
)

func TestParseWriter(t *testing.T) {
	tests := map[string]struct {
		request ownership.Request
		want    ownership.Writer
	}{
		"a command": {
			ownership.Request{Command: "kubectl set image", FieldManager: "kubectl-set", UserAgent: "kubectl/v1.32", User: "jane"},
			ownership.Writer{Command: "kubectl set image", Exact: true, Manager: "kubectl-set"},
		},
		"a command without a field manager": {
			ownership.Request{Command: "kubectl scale", UserAgent: "kubectl/v1.32 (linux/amd64)", User: "jane"},
			ownership.Writer{Command: "kubectl scale", Exact: true, Manager: "kubectl"},
		},
		"a command of holdfast": {
			ownership.Request{Command: "holdfast apply", FieldManager: "kubectl-client-side-apply"},
			ownership.Writer{Act: ownership.Apply, Command: "holdfast apply", Exact: true, Manager: "kubectl-client-side-apply"},
		},
		"diff": {
			ownership.Request{Command: "kubectl diff", FieldManager: "kubectl-client-side-apply"},
			ownership.Writer{Act: ownership.Apply, Command: "kubectl diff", Exact: true, Manager: "kubectl-client-side-apply"},
		},
		"a subcommand of apply is no apply": {
			ownership.Request{Command: "kubectl apply set-last-applied", UserAgent: "kubectl"},
			ownership.Writer{Command: "kubectl apply set-last-applied", Exact: true, Manager: "kubectl"},
		},
		"edit, forced by header": {
			ownership.Request{Command: "kubectl edit", FieldManager: "kubectl-edit", Force: true},
			ownership.Writer{Act: ownership.Edit, Command: "kubectl edit", Exact: true, Manager: "kubectl-edit", Force: true},
		},
		"edit, forced by field manager, is stored as an edit": {
			ownership.Request{Command: "kubectl edit", FieldManager: "force"},
			ownership.Writer{Act: ownership.Edit, Command: "kubectl edit", Exact: true, Manager: "kubectl-edit", Force: true},
		},
		"the field manager force means nothing elsewhere": {
			ownership.Request{Command: "kubectl patch", FieldManager: "force"},
			ownership.Writer{Command: "kubectl patch", Exact: true, Manager: "force"},
		},
		"a header that is no command": {
			ownership.Request{Command: "kubectl apply; rm -rf /", FieldManager: "kubectl-patch"},
			ownership.Writer{Command: "kubectl patch", Manager: "kubectl-patch"},
		},
		"a header of one word": {
			ownership.Request{Command: "kubectl", FieldManager: "helm"},
			ownership.Writer{Command: "helm", Manager: "helm"},
		},
		"a field manager alone": {
			ownership.Request{FieldManager: "kubectl-client-side-apply"},
			ownership.Writer{Act: ownership.Apply, Command: "kubectl apply", Manager: "kubectl-client-side-apply"},
		},
		"a field manager of edit": {
			ownership.Request{FieldManager: "kubectl-edit"},
			ownership.Writer{Act: ownership.Edit, Command: "kubectl edit", Manager: "kubectl-edit"},
		},
		"a program": {
			ownership.Request{UserAgent: "terraform/1.9 (linux)", User: "jane"},
			ownership.Writer{Command: "terraform", Manager: "terraform"},
		},
		"empty request": {ownership.Request{}, ownership.Writer{Command: "unknown"}},
		"characters that do not print": {
			ownership.Request{FieldManager: "a\nb\x00"},
			ownership.Writer{Command: "a b ", Manager: "a\nb\x00"},
		},
		"a service account": {
			ownership.Request{UserAgent: "operator/v1", User: "system:serviceaccount:a:b"},
			ownership.Writer{Act: ownership.Controller, Command: "operator", Manager: "operator"},
		},
		"a component of Kubernetes": {
			ownership.Request{FieldManager: "kube-controller-manager", User: "system:kube-controller-manager"},
			ownership.Writer{Act: ownership.Controller, Command: "kube-controller-manager", Manager: "kube-controller-manager"},
		},
		"a service account that uses kubectl": {
			ownership.Request{Command: "kubectl patch", FieldManager: "kubectl-patch", User: "system:serviceaccount:a:b"},
			ownership.Writer{Command: "kubectl patch", Exact: true, Manager: "kubectl-patch"},
		},
		"a service account with kubectl's field manager": {
			ownership.Request{FieldManager: "kubectl-patch", User: "system:serviceaccount:a:b"},
			ownership.Writer{Command: "kubectl patch", Manager: "kubectl-patch"},
		},
		"server-side apply": {
			ownership.Request{Command: "kubectl apply", FieldManager: "kubectl", User: "jane", ServerSide: true, Forced: true},
			ownership.Writer{Act: ownership.ServerSideApply, Command: "kubectl apply", Exact: true, Manager: "kubectl", Force: true},
		},
		"server-side apply of a controller": {
			ownership.Request{FieldManager: "operator", User: "system:serviceaccount:a:b", ServerSide: true, Forced: true},
			ownership.Writer{Act: ownership.Controller, Command: "operator", Manager: "operator"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, ownership.ParseWriter(test.request)); diff != "" {
				t.Errorf("writer (-want +got):\n%s", diff)
			}
		})
	}
	for _, agent := range []string{strings.Repeat("x", 900<<10), strings.Repeat("é", 65), "\x00" + strings.Repeat("x", 128) + "/1"} {
		got := ownership.ParseWriter(ownership.Request{Command: "kubectl scale", UserAgent: agent}).Manager
		if len(got) != 128 || strings.ContainsRune(got, 0) {
			t.Errorf("a manager of %d bytes", len(got))
		}
	}
	long := ownership.ParseWriter(ownership.Request{FieldManager: strings.Repeat("x", 1000)})
	if len(long.Command) > 200 {
		t.Errorf("a name of %d bytes", len(long.Command))
	}
}
