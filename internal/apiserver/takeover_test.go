package apiserver_test

import (
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// leader returns the identity of the server that runs the controllers.
func leader(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	lease, err := client.CoordinationV1().Leases("kube-system").Get(t.Context(), "holdfast-controllers", metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && lease.Spec.HolderIdentity == nil {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return *lease.Spec.HolderIdentity
}

// When the leading server is killed, the other one becomes the leader. It finishes the
// work that the first left behind, and does the work that comes after. The time this
// takes follows from the lease; package lifecycle tests that.
func TestTakeover(t *testing.T) {
	t.Parallel()
	cluster := etcd.Cluster{Servers: []string{servertest.StartEtcd(t, transport.TLSInfo{})}}
	dir := t.TempDir()
	first := servertest.StartProcess(t, apiserver.Config{DataDir: dir, Etcd: cluster})
	waittest.Until(t, "the first server leads", func() bool { return leader(t, first.Client(t)) != "" })
	dead := leader(t, first.Client(t))
	client := servertest.Start(t, apiserver.Config{Etcd: cluster}).Client(t)

	owner, err := client.CoreV1().ConfigMaps("default").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	reference := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{reference}}}
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), owned, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	first.Kill()
	if err := client.CoreV1().ConfigMaps("default").Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), shop, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	waittest.Until(t, "the second server leads", func() bool {
		now := leader(t, client)
		return now != "" && now != dead
	})
	waittest.Until(t, "the dependent of the owner is deleted", func() bool {
		_, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "owned", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	waittest.Until(t, "the namespace has its service account", func() error {
		_, err := client.CoreV1().ServiceAccounts("shop").Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	if err := client.CoreV1().Namespaces().Delete(t.Context(), "shop", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the namespace is deleted", func() bool {
		_, err := client.CoreV1().Namespaces().Get(t.Context(), "shop", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}
