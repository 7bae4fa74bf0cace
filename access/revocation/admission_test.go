package revocation_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"holdfast.dev/holdfast/access/revocation"
	"holdfast.dev/holdfast/apiserver/servertest"
)

// bindView lets a user read namespaces.
func (f *fixture) bindView(t *testing.T, user string) {
	t.Helper()
	f.bind(t, "", rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}, user)
}

// bind binds a user to a role in a namespace, or everywhere.
func (f *fixture) bind(t *testing.T, namespace string, role rbacv1.RoleRef, user string) {
	t.Helper()
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}}
	meta := metav1.ObjectMeta{Name: user}
	var err error
	if namespace == "" {
		_, err = f.admin.RbacV1().ClusterRoleBindings().Create(t.Context(),
			&rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: role, Subjects: subjects}, metav1.CreateOptions{})
	} else {
		_, err = f.admin.RbacV1().RoleBindings(namespace).Create(t.Context(),
			&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: role, Subjects: subjects}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// testAdmission checks which users may write the list, and which content the server accepts.
func (f *fixture) testAdmission(t *testing.T) {
	f.bind(t, revocation.Namespace, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"}, "editor")
	f.set(t, revocation.Entry{User: "left"})
	defer f.set(t)
	editor := kubernetes.NewForConfigOrDie(f.server.As(t, "editor")).CoreV1().ConfigMaps(revocation.Namespace)
	servertest.Eventually(t, "the role is in force", func() bool {
		_, err := editor.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err)
	})
	admin := f.admin.CoreV1().ConfigMaps(revocation.Namespace)
	const forbidden = `user "editor" cannot revoke credentials.access.holdfast.dev`
	for name, test := range map[string]struct {
		do   func() error
		want string
	}{
		"editor updates": {func() error { return update(t, editor, map[string]string{revocation.Key: "[]"}) }, forbidden},
		"editor deletes": {func() error { return editor.Delete(t.Context(), revocation.Name, metav1.DeleteOptions{}) }, forbidden},
		"editor deletes all": {
			func() error {
				return editor.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
			}, forbidden,
		},
		"not a list": {
			func() error { return update(t, admin, map[string]string{revocation.Key: "user: jane"}) },
			"data[revocations.yaml]: Invalid value: revocations.yaml: error unmarshaling JSON",
		},
		"another key": {
			func() error { return update(t, admin, map[string]string{"list": "- {user: jane}"}) },
			`data: Unsupported value: "list": supported values: "revocations.yaml"`,
		},
		"emergency access": {
			func() error { return update(t, admin, map[string]string{revocation.Key: "- {user: holdfast-admin}"}) },
			"revocations.yaml[0].issuedBefore: Required value: for user holdfast-admin",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := test.do(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	entries, err := f.list.Get(t.Context())
	if err != nil || len(entries) != 1 {
		t.Errorf("the list changed: %v, %v", entries, err)
	}
}

// update replaces the data of the ConfigMap.
func update(t *testing.T, maps coreclient.ConfigMapInterface, data map[string]string) error {
	t.Helper()
	stored, err := maps.Get(t.Context(), revocation.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stored.Data = data
	_, err = maps.Update(t.Context(), stored, metav1.UpdateOptions{})
	return err
}
