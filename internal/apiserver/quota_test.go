package apiserver_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// limitSecrets creates a quota for Secrets in a new namespace and waits until every
// server enforces it.
func limitSecrets(t testing.TB, most int64, servers ...kubernetes.Interface) (namespace string) {
	t.Helper()
	created, err := servers[0].CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "limited-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "quota"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			corev1.ResourceSecrets: *resource.NewQuantity(most, resource.DecimalSI),
			"count/endpoints":      resource.MustParse("0"),
		}},
	}
	if _, err := servers[0].CoreV1().ResourceQuotas(created.Name).Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// While the usage is not known, a server rejects the objects for that reason.
	waittest.Until(t, "usage in the status", func() bool {
		found, err := servers[0].CoreV1().ResourceQuotas(created.Name).Get(t.Context(), quota.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return len(found.Status.Used) == len(quota.Spec.Hard)
	})
	for _, server := range servers {
		waittest.Until(t, "limits in force", func() bool {
			_, err := server.CoreV1().Endpoints(created.Name).Create(t.Context(),
				&corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return apierrors.IsForbidden(err)
		})
	}
	return created.Name
}

// A quota holds for any number of clients that create objects at the same time, through
// several servers.
func TestQuotaHoldsAcrossReplicas(t *testing.T) {
	t.Parallel()
	cluster := etcd.Cluster{Servers: []string{servertest.StartEtcd(t, transport.TLSInfo{})}}
	servers := []kubernetes.Interface{
		servertest.Start(t, apiserver.Config{DataDir: t.TempDir(), Etcd: cluster}).Client(t),
		servertest.Start(t, apiserver.Config{DataDir: t.TempDir(), Etcd: cluster}).Client(t),
	}
	const most = 10
	namespace := limitSecrets(t, most, servers...)
	var creating sync.WaitGroup
	var created atomic.Int64
	for i := range 50 {
		creating.Go(func() {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s-%d", i)}}
			_, err := servers[i%2].CoreV1().Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{})
			switch {
			case err == nil:
				created.Add(1)
			case !apierrors.IsForbidden(err):
				t.Error(err)
			}
		})
	}
	creating.Wait()
	if got := created.Load(); got != most {
		t.Errorf("%d secrets are created, %d fit", got, most)
	}
	// An object that is deleted through one server makes room for one through the other.
	list, err := servers[0].CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != most {
		t.Fatalf("%d secrets are there (%v)", len(list.Items), err)
	}
	if err := servers[0].CoreV1().Secrets(namespace).Delete(t.Context(), list.Items[0].Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "room for one more", func() error {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "one-more"}}
		_, err := servers[1].CoreV1().Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{})
		return err
	})
}

// BenchmarkCreatePod measures what a quota adds to a request: nothing in a namespace
// without quotas, and one write of the quota's status in a namespace with one.
func BenchmarkCreatePod(b *testing.B) {
	client := servertest.Start(b, apiserver.Config{}).Client(b)
	for name, hard := range map[string]corev1.ResourceList{
		"no quota":         nil,
		"quota of secrets": {corev1.ResourceSecrets: resource.MustParse("1000000")},
		"quota of pods":    {corev1.ResourcePods: resource.MustParse("1000000")},
		"quota of everything": {
			corev1.ResourcePods: resource.MustParse("1000000"), corev1.ResourceRequestsCPU: resource.MustParse("1000000"),
			corev1.ResourceLimitsMemory: resource.MustParse("1000Ti"),
		},
	} {
		for _, clients := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s, %d clients", name, clients), func(b *testing.B) {
				benchmarkCreatePod(b, client, hard, clients)
			})
		}
	}
}

func benchmarkCreatePod(b *testing.B, client kubernetes.Interface, hard corev1.ResourceList, clients int) {
	namespace := limitSecrets(b, 0, client)
	if err := client.CoreV1().ResourceQuotas(namespace).Delete(b.Context(), "quota", metav1.DeleteOptions{}); err != nil {
		b.Fatal(err)
	}
	if hard != nil {
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "bench"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}
		if _, err := client.CoreV1().ResourceQuotas(namespace).Create(b.Context(), quota, metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
		waittest.Until(b, "status", func() bool {
			quota, err := client.CoreV1().ResourceQuotas(namespace).Get(b.Context(), "bench", metav1.GetOptions{})
			return err == nil && len(quota.Status.Used) > 0
		})
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "p-"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "c", Image: "i", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Mi")},
		},
	}}}}
	work := make(chan struct{})
	var creating sync.WaitGroup
	for range clients {
		creating.Go(func() {
			for range work {
				if _, err := client.CoreV1().Pods(namespace).Create(b.Context(), pod, metav1.CreateOptions{}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for b.Loop() {
		work <- struct{}{}
	}
	close(work)
	creating.Wait()
}
