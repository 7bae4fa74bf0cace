package kudo_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/waittest"
)

// testUpdate checks the command update, with refused and accepted values.
func testUpdate(t *testing.T, c cluster) {
	c.must(t, "install", tok(t, "0.1.0", first), "-p", "REALM=r", "--instance", "tok")
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte("REALM: other\nZONE: null\nSIZE: 9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := c.instance(t, "tok").Spec.Parameters
	c.fails(t, `update refused:
parameter 'REALM' is immutable but was changed from 'r' to 'other'
parameter 'ZONE' is immutable but was removed (value 'eu')`, "update", "tok", "-P", file)
	c.fails(t, "parameter 'OTHER' is unknown", "update", "tok", "-p", "OTHER=1")
	c.fails(t, "there is no instance none in namespace update", "update", "none", "-p", "SIZE=1")
	c.fails(t, "give parameters with -p or -P, or take some over with --take-over", "update", "tok")
	if diff := cmp.Diff(before, c.instance(t, "tok").Spec.Parameters); diff != "" {
		t.Errorf("a refused update changed (-want +got):\n%s", diff)
	}
	// An immutable parameter may be given with its current value.
	c.must(t, "update", "tok", "-p", "REALM=r", "-p", "ZONE=eu", "-p", "SIZE=9")
	if got := c.instance(t, "tok").Spec.Parameters["SIZE"]; got != "9" {
		t.Errorf("SIZE is %q", got)
	}
}

// testTakeOver checks that an author without rights blocks a plan until another user takes the
// value over.
func testTakeOver(t *testing.T, c cluster) {
	c.bindEdit(t, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "eve"})
	eve := c.behind(t, c.server.As(t, "eve"), nil)
	c.must(t, "install", tok(t, "0.1.0", first), "-p", "REALM=r", "--instance", "tok", "--wait")
	waittest.Until(t, "eve may write", func() error {
		_, err := eve.kudo(t.Context(), "update", "tok", "-p", "SIZE=9", "--wait")
		return err
	})
	if err := c.RbacV1().RoleBindings(c.Namespace).Delete(t.Context(), "eve", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "eve may not read", func() bool {
		_, err := eve.kudo(t.Context(), "get")
		return err != nil
	})
	c.fails(t, `user "eve" set parameter 'SIZE' and must be allowed to apply this object too`, "plan", "trigger", "tok", "deploy", "--wait")
	c.fails(t, "parameter 'TYPO' cannot be taken over: operator version tok-1.0-0.1.0 has no such parameter",
		"update", "tok", "--take-over", "TYPO")
	c.must(t, "update", "tok", "--take-over", "SIZE", "--wait")
	instance := c.instance(t, "tok")
	names, _, err := authorship.NamesOn(instance)
	if err != nil || slices.Contains(names.Authors["SIZE"], "eve") || len(names.Authors["SIZE"]) != 1 {
		t.Errorf("authors %v, %v", names, err)
	}
	if _, stored := instance.Annotations[api.TakeOverAnnotation]; stored || instance.Spec.Parameters["SIZE"] != "9" {
		t.Errorf("annotations %v, parameters %v", instance.Annotations, instance.Spec.Parameters)
	}
	c.must(t, "update", "tok", "-p", "LATER=y", "--wait")
}
