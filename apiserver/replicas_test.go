package apiserver_test

import (
	"net"
	"net/url"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/apiserver"
)

// startEtcd runs an etcd with ports, as a cluster outside would be.
func startEtcd(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := &url.URL{Scheme: "http", Host: listener.Addr().String()}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	cfg := embed.NewConfig()
	cfg.Dir = t.TempDir()
	cfg.LogLevel = "fatal"
	cfg.TickMs, cfg.ElectionMs = 10, 100
	cfg.ListenPeerUrls = nil
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*address}, []url.URL{*address}
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	select {
	case <-server.Server.ReadyNotify():
	case <-time.After(time.Minute):
		t.Fatal("etcd is not ready after a minute")
	}
	return address.String()
}

// Two servers on one etcd serve the same objects, and each sees the other's
// writes in its watches.
func TestReplicasServeTheSame(t *testing.T) {
	etcd := apiserver.EtcdConfig{Servers: []string{startEtcd(t)}}
	one := start(t, apiserver.Config{DataDir: t.TempDir(), Etcd: etcd}).client(t)
	two := start(t, apiserver.Config{DataDir: t.TempDir(), Etcd: etcd}).client(t)

	watcher, err := two.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=shared"})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	created, err := one.CoreV1().ConfigMaps("default").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "shared"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case event := <-watcher.ResultChan():
		if object, ok := event.Object.(*corev1.ConfigMap); !ok || object.UID != created.UID {
			t.Errorf("the other server's watch shows %+v", event.Object)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the other server's watch shows nothing")
	}
	found, err := two.CoreV1().ConfigMaps("default").Get(t.Context(), "shared", metav1.GetOptions{})
	if err != nil || found.ResourceVersion != created.ResourceVersion {
		t.Errorf("the other server has version %q (%v), want %q", found.ResourceVersion, err, created.ResourceVersion)
	}

	addresses := map[string]string{}
	for i := range 10 {
		client := one
		if i%2 == 1 {
			client = two
		}
		service, err := client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "replica-"},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := addresses[service.Spec.ClusterIP]; taken {
			t.Errorf("%s and %s have the same address", service.Name, other)
		}
		addresses[service.Spec.ClusterIP] = service.Name
	}
}
