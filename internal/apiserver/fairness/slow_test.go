package fairness_test

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/waittest"
)

// slowBodies is more than the number of requests that one user may have with bodies that have not
// arrived, and refusedBodies is by how many.
const (
	slowBodies    = 1300
	refusedBodies = 236
)

// A user without rights sends bodies that never end. Requests of another user in the same
// priority level are served meanwhile.
func TestSlowBodiesDelayOnlyTheirUser(t *testing.T) {
	admin := kubernetes.NewForConfigOrDie(administrator)
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "writer", Namespace: "default"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "writer"}},
	}
	if _, err := admin.RbacV1().RoleBindings("default").Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	writer := kubernetes.NewForConfigOrDie(as("writer")).CoreV1().ConfigMaps("default")
	create := func() error {
		_, err := writer.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "written-"}}, metav1.CreateOptions{})
		return err
	}
	waittest.Until(t, "the writer may write", func() bool { return create() == nil })

	refused := sendSlowBodies(t, as("slow"))
	waittest.Until(t, "the server receives no more of one user", func() bool { return refused.Load() >= refusedBodies })
	for range 20 {
		if err := create(); err != nil {
			t.Fatal(err)
		}
	}
}

// A user without rights, and a node, send bodies that never end. Another node renews its Lease meanwhile: the node is in the priority
// level of the attacking node.
func TestSlowBodiesBesideLeases(t *testing.T) {
	admin := kubernetes.NewForConfigOrDie(administrator)
	for _, name := range []string{"renewing", "attacking"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := admin.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	leases := kubernetes.NewForConfigOrDie(asNode("renewing")).CoordinationV1().Leases(corev1.NamespaceNodeLease)
	held := "renewing"
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: held}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &held}}
	var err error
	waittest.Until(t, "the node may create its Lease", func() bool {
		lease, err = leases.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: held}, Spec: lease.Spec}, metav1.CreateOptions{})
		return err == nil
	})
	ofUser, ofNode := sendSlowBodies(t, as("slow")), sendSlowBodies(t, asNode("attacking"))
	waittest.Until(t, "the server receives no more of the user and of the node", func() bool {
		return ofUser.Load() >= refusedBodies && ofNode.Load() >= refusedBodies
	})
	for i := range 20 {
		now := metav1.NowMicro()
		lease.Spec.RenewTime = &now
		if lease, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
			t.Fatalf("renewal %d: %v", i, err)
		}
	}
}

// sendSlowBodies sends requests with bodies that do not end before the test does, and
// counts those that are answered with 429.
func sendSlowBodies(t *testing.T, config *rest.Config) *atomic.Int64 {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var sending sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		sending.Wait()
	})
	refused := &atomic.Int64{}
	for range slowBodies {
		sending.Go(func() {
			body, feed := io.Pipe()
			go func() {
				_, _ = io.WriteString(feed, "{")
				<-ctx.Done()
				_ = feed.Close()
			}()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost,
				config.Host+"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body)
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Content-Type", "application/json")
			resp, err := client.Do(req)
			if err != nil {
				return // the test is over
			}
			defer func() { _ = resp.Body.Close() }()
			if resp.StatusCode == http.StatusTooManyRequests {
				refused.Add(1)
			}
		})
	}
	return refused
}

func as(user string, groups ...string) *rest.Config {
	config := rest.CopyConfig(administrator)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	return config
}

func asNode(name string) *rest.Config { return as("system:node:"+name, "system:nodes") }
