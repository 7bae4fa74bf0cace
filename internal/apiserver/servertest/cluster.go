package servertest

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/waittest"
)

// Cluster holds the clients of one user of a server. Tests embed it, and use one namespace with it.
type Cluster struct {
	kubernetes.Interface
	Dynamic   dynamic.Interface
	Config    *rest.Config
	Namespace string
}

// NewCluster returns the clients of a client config, for the namespace default.
func NewCluster(config *rest.Config) Cluster {
	return Cluster{
		Interface: kubernetes.NewForConfigOrDie(config), Dynamic: dynamic.NewForConfigOrDie(config),
		Config: config, Namespace: metav1.NamespaceDefault,
	}
}

// Cluster returns the clients of the administrator, for the namespace default.
func (s *Server) Cluster(t testing.TB) Cluster {
	t.Helper()
	return NewCluster(s.Config(t))
}

// CreateNamespace creates a namespace, waits until it has what the controllers create in each (the service account that pods use by
// default, and kube-root-ca.crt), and returns its name. The server completes a name that ends in a hyphen.
func CreateNamespace(t testing.TB, client kubernetes.Interface, name string) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if strings.HasSuffix(name, "-") {
		namespace.ObjectMeta = metav1.ObjectMeta{GenerateName: name}
	}
	created, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	AwaitAccount(t, client, created.Name)
	waittest.Until(t, "the namespace has kube-root-ca.crt", func() error {
		_, err := client.CoreV1().ConfigMaps(created.Name).Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		return err
	})
	return created.Name
}

// StartLedBy starts a server whose controllers do not run, because another holder has their Lease for an hour.
func StartLedBy(t testing.TB, holder string, config apiserver.Config) *Server {
	t.Helper()
	if config.DataDir == "" {
		config.DataDir = t.TempDir()
	}
	// The controllers of this server run before the holder gets the Lease.
	first := Start(t, config)
	AwaitAccount(t, first.Client(t), metav1.NamespaceDefault)
	SetLeader(t, first.Client(t), holder, time.Hour)
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	return Start(t, config)
}
