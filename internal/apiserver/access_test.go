package apiserver_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// as returns a client that has the credential of the administrator and impersonates a user.
func as(t *testing.T, server *servertest.Server, user string) kubernetes.Interface {
	t.Helper()
	return kubernetes.NewForConfigOrDie(server.As(t, user))
}

func TestRolesDecide(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()})
	admin := server.Client(t)
	for _, role := range []string{"view", "edit", "admin"} {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role},
			RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: "User", Name: role + "-user"}},
		}
		if _, err := admin.RbacV1().RoleBindings("default").Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	verbs := map[string]func(kubernetes.Interface) error{
		"list pods": func(c kubernetes.Interface) error {
			_, err := c.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
			return err
		},
		"list pods elsewhere": func(c kubernetes.Interface) error {
			_, err := c.CoreV1().Pods("kube-system").List(t.Context(), metav1.ListOptions{})
			return err
		},
		"list secrets": func(c kubernetes.Interface) error {
			_, err := c.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{})
			return err
		},
		"create a config map": func(c kubernetes.Interface) error {
			_, err := c.CoreV1().ConfigMaps("default").Create(t.Context(),
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "c-"}}, metav1.CreateOptions{})
			return err
		},
		"bind view": func(c kubernetes.Interface) error { return bind(t, c, "view") },
		// A user cannot grant rights that the user does not hold.
		"bind cluster-admin": func(c kubernetes.Interface) error { return bind(t, c, "cluster-admin") },
		"discover": func(c kubernetes.Interface) error {
			_, err := c.Discovery().ServerVersion()
			return err
		},
	}
	want := map[string]map[string]bool{
		"unbound-user": {"discover": true},
		"view-user":    {"discover": true, "list pods": true},
		"edit-user":    {"discover": true, "list pods": true, "list secrets": true, "create a config map": true},
		"admin-user": {
			"discover": true, "list pods": true, "list secrets": true, "create a config map": true, "bind view": true,
		},
	}
	// As in Kubernetes, the authorizer reads roles and bindings from a watch. A binding
	// takes effect a moment after it is stored, in the order of creation.
	waittest.Until(t, "the last binding counts", func() bool { return verbs["list pods"](as(t, server, "admin-user")) == nil })
	for user, may := range want {
		client := as(t, server, user)
		for name, verb := range verbs {
			err := verb(client)
			if (err == nil) != may[name] || (err != nil && !apierrors.IsForbidden(err)) {
				t.Errorf("%s, %s: %v, want it allowed: %t", user, name, err, may[name])
			}
		}
	}
}

func bind(t *testing.T, client kubernetes.Interface, role string) error {
	t.Helper()
	_, err := client.RbacV1().RoleBindings("default").Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "b-"},
		RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: "User", Name: "friend"}},
	}, metav1.CreateOptions{})
	return err
}

// Anonymous clients may read health and nothing else.
func TestAnonymousReadsOnlyHealth(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()})
	config := server.Config(t)
	config.CertData, config.KeyData = nil, nil
	anonymous := kubernetes.NewForConfigOrDie(config).Discovery().RESTClient()
	for path, want := range map[string]bool{
		"/healthz": true, "/livez": true, "/readyz": true,
		"/version": false, "/api/v1/namespaces": false, "/metrics": false, "/openapi/v2": false,
	} {
		get := func() error {
			_, err := anonymous.Get().AbsPath(path).DoRaw(t.Context())
			return err
		}
		if want {
			waittest.Until(t, path+" says that the server is healthy", get) // it does not while etcd is slow
		} else if err := get(); !apierrors.IsUnauthorized(err) {
			t.Errorf("%s: %v, want Unauthorized", path, err)
		}
	}
}
