package apiserver_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// issue issues a certificate of the authority and returns the files of certificate and
// key.
func issue(t *testing.T, authority *access.Authority, name string, subject access.Subject) (cert, key string) {
	t.Helper()
	pair, err := authority.Issue(subject, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	write(t, cert, string(pair.Cert))
	write(t, key, string(pair.Key))
	return cert, key
}

// The server works with an etcd that requires client certificates. Without the right
// certificate the start fails with an error that names the etcd.
func TestEtcdWithTLS(t *testing.T) {
	t.Parallel()
	authority, pair, err := access.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "ca.crt")
	write(t, ca, string(pair.Cert))
	serverCert, serverKey := issue(t, authority, "server", access.Subject{User: "etcd", Hosts: []string{"127.0.0.1"}})
	clientCert, clientKey := issue(t, authority, "client", access.Subject{User: "holdfast"})
	tls := transport.TLSInfo{CertFile: serverCert, KeyFile: serverKey, TrustedCAFile: ca, ClientCertAuth: true}
	servers := []string{servertest.StartEtcd(t, tls)}

	cluster := etcd.Cluster{Servers: servers, CAFile: ca, CertFile: clientCert, KeyFile: clientKey}
	client := servertest.Start(t, apiserver.Config{DataDir: t.TempDir(), Etcd: cluster}).Client(t)
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "over-tls"}}, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}

	_, err = apiserver.New(t.Context(), apiserver.Config{DataDir: t.TempDir(), Etcd: etcd.Cluster{Servers: servers, CAFile: ca}})
	if err == nil || !strings.Contains(err.Error(), "etcd at "+servers[0]) {
		t.Errorf("without a client certificate: %v", err)
	}
}

// Two servers on one etcd serve the same objects, and each sees the other's
// writes in its watches.
func TestReplicasServeTheSame(t *testing.T) {
	t.Parallel()
	cluster := etcd.Cluster{Servers: []string{servertest.StartEtcd(t, transport.TLSInfo{})}}
	one := servertest.Start(t, apiserver.Config{DataDir: t.TempDir(), Etcd: cluster}).Client(t)
	two := servertest.Start(t, apiserver.Config{DataDir: t.TempDir(), Etcd: cluster}).Client(t)

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
	event := waittest.Receive(t, "an event of the other server's watch", watcher.ResultChan())
	if object, ok := event.Object.(*corev1.ConfigMap); !ok || object.UID != created.UID {
		t.Errorf("the other server's watch shows %+v", event.Object)
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
