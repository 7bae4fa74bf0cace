package lifecycle_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/lifecycle"
	"holdfast.dev/holdfast/internal/waittest"
)

const (
	rootCAName = "kube-root-ca.crt"
	rootCA     = "-----BEGIN CERTIFICATE-----\nours\n-----END CERTIFICATE-----\n"
)

// startWithRootCA starts a server, and controllers with a CA certificate.
func startWithRootCA(t testing.TB) cluster {
	t.Helper()
	c := startWithout(t)
	startLeading(t, lifecycle.Config{Client: c.Config, RootCA: []byte(rootCA)})
	return c
}

// hasAccount reports whether a namespace has its default ServiceAccount.
func (c cluster) hasAccount(t testing.TB, namespace string) bool {
	t.Helper()
	_, err := c.CoreV1().ServiceAccounts(namespace).Get(t.Context(), "default", metav1.GetOptions{})
	return !notFound(t, err)
}

// rootCA returns the ConfigMap with the CA of a namespace. It is empty if the ConfigMap is
// missing.
func (c cluster) rootCA(t testing.TB, namespace string) *corev1.ConfigMap {
	t.Helper()
	found, err := c.CoreV1().ConfigMaps(namespace).Get(t.Context(), rootCAName, metav1.GetOptions{})
	if notFound(t, err) {
		return &corev1.ConfigMap{}
	}
	return found
}

// hasRootCA reports whether a ConfigMap has the right data.
func hasRootCA(found *corev1.ConfigMap) bool {
	return cmp.Equal(found.Data, map[string]string{"ca.crt": rootCA}) && len(found.BinaryData) == 0
}

func TestNamespacesGetAccountAndRootCA(t *testing.T) {
	t.Parallel()
	c := startWithRootCA(t)
	c.createNamespace(t, "shop")
	for _, namespace := range []string{"default", "kube-system", "kube-public", "kube-node-lease", "shop"} {
		waittest.Until(t, "service account in "+namespace, func() bool { return c.hasAccount(t, namespace) })
		waittest.Until(t, "root CA in "+namespace, func() bool { return hasRootCA(c.rootCA(t, namespace)) })
	}
	// The informers have synced now, so this namespace is handled by its event.
	c.createNamespace(t, "store")
	waittest.Until(t, "account and root CA", func() bool { return c.hasAccount(t, "store") && hasRootCA(c.rootCA(t, "store")) })
}

// TestDeletedAccountIsCreated checks that the default ServiceAccount is created again
// after it was deleted, without the changes of users.
func TestDeletedAccountIsCreated(t *testing.T) {
	t.Parallel()
	c := startWithRootCA(t)
	accounts := c.CoreV1().ServiceAccounts("default")
	waittest.Until(t, "service account", func() bool { return c.hasAccount(t, "default") })
	patch := []byte(`{"imagePullSecrets":[{"name":"mine"}]}`)
	changed, err := accounts.Patch(t.Context(), "default", types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := accounts.Delete(t.Context(), "default", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "new service account", func() bool { return c.hasAccount(t, "default") })
	created, err := accounts.Get(t.Context(), "default", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if created.UID == changed.UID || len(created.ImagePullSecrets) > 0 {
		t.Errorf("this is the old service account: %v", created)
	}
}

// TestRootCAIsCorrected checks that wrong data of the ConfigMap is corrected.
func TestRootCAIsCorrected(t *testing.T) {
	t.Parallel()
	c := startWithRootCA(t)
	// The names of the tests are names of namespaces, too.
	tests := map[string]struct {
		patch string
		// recreated says that the ConfigMap must be deleted and created again.
		recreated bool
	}{
		"other":     {patch: `{"data":{"ca.crt":"other"}}`},
		"more":      {patch: `{"data":{"tls.crt":"more"},"binaryData":{"bin":"AAEC"}}`},
		"nothing":   {patch: `{"data":null}`},
		"immutable": {patch: `{"data":{"ca.crt":"other"},"immutable":true}`, recreated: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.createNamespace(t, name)
			waittest.Until(t, "root CA", func() bool { return hasRootCA(c.rootCA(t, name)) })
			configMaps, patch := c.CoreV1().ConfigMaps(name), []byte(test.patch)
			changed, err := configMaps.Patch(t.Context(), rootCAName, types.MergePatchType, patch, metav1.PatchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if hasRootCA(changed) {
				t.Fatal("the patch has no effect")
			}
			waittest.Until(t, "corrected root CA", func() bool { return hasRootCA(c.rootCA(t, name)) })
			if recreated := c.rootCA(t, name).UID != changed.UID; recreated != test.recreated {
				t.Errorf("recreated: %t, want %t", recreated, test.recreated)
			}
		})
	}
}

// TestTerminatingNamespace checks that the objects are not created again in a terminating
// namespace.
func TestTerminatingNamespace(t *testing.T) {
	t.Parallel()
	c := startWithRootCA(t)
	c.createNamespace(t, "shop")
	waittest.Until(t, "account and root CA", func() bool { return c.hasAccount(t, "shop") && hasRootCA(c.rootCA(t, "shop")) })
	c.createConfigMap(t, "shop", "held", "example.com/hold")
	c.deleteNamespace(t, "shop")
	c.waitConditions(t, "shop", withProblems(
		"NamespaceContentRemaining True SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances",
		"NamespaceFinalizersRemaining True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: "+
			"example.com/hold in 1 resource instances",
	))
	left, err := c.CoreV1().ConfigMaps("shop").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	isRootCA := func(item corev1.ConfigMap) bool { return item.Name == rootCAName }
	if slices.ContainsFunc(left.Items, isRootCA) || c.hasAccount(t, "shop") {
		t.Error("the account or the root CA exists")
	}
}

// TestWithoutRootCA checks that without a CA certificate no ConfigMap is created.
func TestWithoutRootCA(t *testing.T) {
	t.Parallel()
	c := startWithout(t)
	startLeading(t, lifecycle.Config{Client: c.Config})
	c.createNamespace(t, "shop")
	waittest.Until(t, "service account", func() bool { return c.hasAccount(t, "shop") })
	if found := c.rootCA(t, "shop"); found.UID != "" {
		t.Errorf("a root CA exists: %v", found.Data)
	}
}
