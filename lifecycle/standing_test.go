package lifecycle_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/lifecycle"
)

const (
	rootCAName = "kube-root-ca.crt"
	rootCA     = "-----BEGIN CERTIFICATE-----\nours\n-----END CERTIFICATE-----\n"
)

// newProvidedCluster is a server whose controllers know its CA.
func newProvidedCluster(t testing.TB) cluster {
	t.Helper()
	c := newClusterLedBy(t, "test")
	start(t, lifecycle.Config{Client: c.config, Identity: "test", RootCA: []byte(rootCA)})
	return c
}

// hasAccount reports whether a namespace has its default ServiceAccount.
func (c cluster) hasAccount(t testing.TB, namespace string) bool {
	t.Helper()
	_, err := c.CoreV1().ServiceAccounts(namespace).Get(t.Context(), "default", metav1.GetOptions{})
	return !gone(t, err)
}

// rootCA is the content of a namespace's root CA, without UID if it is missing.
func (c cluster) rootCA(t testing.TB, namespace string) *corev1.ConfigMap {
	t.Helper()
	found, err := c.CoreV1().ConfigMaps(namespace).Get(t.Context(), rootCAName, metav1.GetOptions{})
	if gone(t, err) {
		return &corev1.ConfigMap{}
	}
	return found
}

func rightCA(found *corev1.ConfigMap) bool {
	return cmp.Equal(found.Data, map[string]string{"ca.crt": rootCA}) && len(found.BinaryData) == 0
}

func TestNamespacesGetAccountAndRootCA(t *testing.T) {
	t.Parallel()
	c := newProvidedCluster(t)
	c.createNamespace(t, "shop")
	for _, namespace := range []string{"default", "kube-system", "kube-public", "kube-node-lease", "shop"} {
		servertest.Eventually(t, "service account in "+namespace, func() bool { return c.hasAccount(t, namespace) })
		servertest.Eventually(t, "root CA in "+namespace, func() bool { return rightCA(c.rootCA(t, namespace)) })
	}
	// Now that the controllers are warm, a namespace has both at once.
	c.createNamespace(t, "store")
	servertest.Eventually(t, "both", func() bool { return c.hasAccount(t, "store") && rightCA(c.rootCA(t, "store")) })
}

func TestAccountComesBack(t *testing.T) {
	t.Parallel()
	c := newProvidedCluster(t)
	accounts := c.CoreV1().ServiceAccounts("default")
	servertest.Eventually(t, "service account", func() bool { return c.hasAccount(t, "default") })
	patch := []byte(`{"imagePullSecrets":[{"name":"mine"}]}`)
	changed, err := accounts.Patch(t.Context(), "default", types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := accounts.Delete(t.Context(), "default", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "service account again", func() bool { return c.hasAccount(t, "default") })
	again, err := accounts.Get(t.Context(), "default", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if again.UID == changed.UID || len(again.ImagePullSecrets) > 0 {
		t.Errorf("the old service account is back: %v", again)
	}
}

func TestRootCAIsPutRight(t *testing.T) {
	t.Parallel()
	c := newProvidedCluster(t)
	tests := map[string]struct {
		patch string
		anew  bool
	}{
		"other":     {patch: `{"data":{"ca.crt":"other"}}`},
		"more":      {patch: `{"data":{"tls.crt":"more"},"binaryData":{"bin":"AAEC"}}`},
		"nothing":   {patch: `{"data":null}`},
		"immutable": {patch: `{"data":{"ca.crt":"other"},"immutable":true}`, anew: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.createNamespace(t, name)
			servertest.Eventually(t, "root CA", func() bool { return rightCA(c.rootCA(t, name)) })
			changed, err := c.CoreV1().ConfigMaps(name).Patch(t.Context(), rootCAName, types.MergePatchType, []byte(test.patch), metav1.PatchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if rightCA(changed) {
				t.Fatal("nothing was changed")
			}
			servertest.Eventually(t, "root CA again", func() bool { return rightCA(c.rootCA(t, name)) })
			if anew := c.rootCA(t, name).UID != changed.UID; anew != test.anew {
				t.Errorf("created anew: %t, want %t", anew, test.anew)
			}
		})
	}
}

func TestTerminatingNamespaceGetsNothing(t *testing.T) {
	t.Parallel()
	c := newProvidedCluster(t)
	c.createNamespace(t, "shop")
	servertest.Eventually(t, "both", func() bool { return c.hasAccount(t, "shop") && rightCA(c.rootCA(t, "shop")) })
	c.createConfigMap(t, "shop", "held", "example.com/hold")
	c.deleteNamespace(t, "shop")
	c.waitConditions(t, "shop", but(
		"NamespaceContentRemaining True SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances",
		"NamespaceFinalizersRemaining True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: "+
			"example.com/hold in 1 resource instances",
	))
	left, err := c.CoreV1().ConfigMaps("shop").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(left.Items, func(item corev1.ConfigMap) bool { return item.Name == rootCAName }) || c.hasAccount(t, "shop") {
		t.Error("a terminating namespace is provided for")
	}
}

func TestRootCACanBeOff(t *testing.T) {
	t.Parallel()
	c := newClusterLedBy(t, "test")
	start(t, lifecycle.Config{Client: c.config, Identity: "test"})
	c.createNamespace(t, "shop")
	servertest.Eventually(t, "service account", func() bool { return c.hasAccount(t, "shop") })
	if found := c.rootCA(t, "shop"); found.UID != "" {
		t.Errorf("a root CA nobody gave: %v", found.Data)
	}
}
