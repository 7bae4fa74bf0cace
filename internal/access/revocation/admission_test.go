package revocation_test

import (
	"crypto/tls"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/access/revocation"
	"holdfast.dev/holdfast/internal/waittest"
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
	waittest.Until(t, "the role is in force", func() bool {
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

// testWarning checks that a client gets a warning if the list that it writes revokes the credential
// with which it writes, and that it gets none if another credential of the same user is revoked.
func (f *fixture) testWarning(t *testing.T) {
	f.set(t)
	config := f.server.Config(t)
	pair, err := tls.X509KeyPair(config.CertData, config.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	serial := pair.Leaf.SerialNumber.Text(16)
	const admin = "- {user: holdfast-admin, issuedBefore: %q}"
	at := func(offset time.Duration) string { return time.Now().Add(offset).UTC().Format(time.RFC3339) }
	const own = "the list revokes your own credential: "
	for name, test := range map[string]struct {
		list string
		want []string
	}{
		"credentials that are older": {fmt.Sprintf(admin, at(-time.Hour)), nil},
		"all credentials until now":  {fmt.Sprintf(admin, at(time.Minute)), []string{own + "user holdfast-admin"}},
		"its certificate":            {"- {serial: \"" + serial + "\"}", []string{own + "serial " + serial}},
		"another user":               {"- {user: jane}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			warnings := &warningList{}
			config := rest.CopyConfig(config)
			config.WarningHandler = warnings
			maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(revocation.Namespace)
			stored, err := maps.Get(t.Context(), revocation.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			stored.Data = map[string]string{revocation.Key: test.list}
			if _, err := maps.Update(t.Context(), stored, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, warnings.texts); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// warningList is a rest.WarningHandler that stores the warnings of a server.
type warningList struct{ texts []string }

func (w *warningList) HandleWarningHeader(_ int, _, text string) { w.texts = append(w.texts, text) }

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
