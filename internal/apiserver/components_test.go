package apiserver_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/apiserver/serviceip"
	"holdfast.dev/holdfast/internal/lifecycle"
	"holdfast.dev/holdfast/internal/waittest"
)

// authorityFiles is a certificate authority with files in a directory.
type authorityFiles struct {
	*access.Authority
	dir, caFile string
}

func newAuthorityFiles(t *testing.T) authorityFiles {
	t.Helper()
	authority, _, err := access.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a := authorityFiles{Authority: authority, dir: t.TempDir()}
	a.caFile = writeFile(t, filepath.Join(a.dir, "ca.crt"), authority.CertPEM)
	return a
}

// issue writes a certificate and its key to files.
func (a authorityFiles) issue(t *testing.T, subject access.Subject) (cert, key string) {
	t.Helper()
	pair, err := a.Issue(subject, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(a.dir, subject.User)
	return writeFile(t, name+".crt", pair.Cert), writeFile(t, name+".key", pair.Key)
}

func writeFile(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func rsaKeyFile(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	return writeFile(t, filepath.Join(t.TempDir(), "sa.key"), pem.EncodeToMemory(block))
}

func whoAmI(t *testing.T, config *rest.Config) (string, error) {
	t.Helper()
	review, err := kubernetes.NewForConfigOrDie(config).AuthenticationV1().SelfSubjectReviews().Create(
		t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	return review.Status.UserInfo.Username, err
}

// TestComponents starts a server as the installers of Kubernetes start kube-apiserver: with
// certificates and keys that they made.
func TestComponents(t *testing.T) {
	t.Parallel()
	cluster, proxies := newAuthorityFiles(t), newAuthorityFiles(t)
	cert, key := cluster.issue(t, access.Subject{User: "kube-apiserver", Hosts: []string{"127.0.0.1", "localhost"}})
	server := servertest.Start(t, apiserver.Config{
		Serving:      config.Serving{CertFile: cert, KeyFile: key, MinVersion: "VersionTLS13"},
		ClientCAFile: cluster.caFile,
		RequestHeader: options.RequestHeaderAuthenticationOptions{
			ClientCAFile: proxies.caFile, AllowedNames: []string{"front-proxy"}, UsernameHeaders: []string{"X-Remote-User"},
		},
		ServiceAccounts: config.ServiceAccounts{
			SigningKeyFile: rsaKeyFile(t), KeyFiles: []string{rsaKeyFile(t)}, Issuers: []string{"https://issuer.example", "old"},
		},
		Services: serviceip.Ranges{
			Addresses: netip.MustParsePrefix("10.0.0.0/24"), NodePorts: utilnet.PortRange{Base: 20000, Size: 10},
		},
		WithoutOperators: true,
	})
	t.Run("credentials", func(t *testing.T) { testCredentials(t, server, cluster, proxies) })
	t.Run("tokens", func(t *testing.T) { testTokens(t, server) })
	t.Run("services", func(t *testing.T) { testRanges(t, server.Client(t)) })
	t.Run("root authority", func(t *testing.T) {
		waittest.Until(t, "the ConfigMap has both authorities", func() bool {
			found, err := server.Client(t).CoreV1().ConfigMaps("default").Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
			return err == nil && strings.Count(found.Data["ca.crt"], "BEGIN CERTIFICATE") == 2
		})
	})
	t.Run("lowest version of TLS", func(t *testing.T) {
		old := &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12} //nolint:gosec // the test asks for it
		conn, err := tls.Dial("tcp", strings.TrimPrefix(server.URL(), "https://"), old)
		if err == nil {
			_ = conn.Close()
			t.Error("the server accepts TLS 1.2")
		}
	})
}

// testCredentials checks which user the server sees for a client certificate. All these clients
// trust only the authority of the cluster.
func testCredentials(t *testing.T, server *servertest.Server, cluster, proxies authorityFiles) {
	t.Helper()
	if name, err := whoAmI(t, server.Config(t)); err != nil || name != access.AdminUser {
		t.Errorf("the admin kubeconfig is %q, %v", name, err)
	}
	for name, test := range map[string]struct {
		authority authorityFiles
		subject   string
		want      string
	}{
		"client":             {cluster, "ann", "ann"},
		"client with header": {cluster, "front-proxy", "front-proxy"},
		"proxy":              {proxies, "front-proxy", "bob"},
		"another name":       {proxies, "ann", ""},
	} {
		cert, key := test.authority.issue(t, access.Subject{User: test.subject})
		config := &rest.Config{Host: server.URL(), TLSClientConfig: rest.TLSClientConfig{
			CertFile: cert, KeyFile: key, CAFile: cluster.caFile,
		}}
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				req.Header.Set("X-Remote-User", "bob")
				return next.RoundTrip(req)
			})
		})
		got, err := whoAmI(t, config)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, test.want)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }

// testTokens checks that the server signs with the given key, and accepts what it signed.
func testTokens(t *testing.T, server *servertest.Server) {
	t.Helper()
	client := server.Client(t)
	waittest.Until(t, "the account default is there", func() error {
		_, err := client.CoreV1().ServiceAccounts("default").Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	request, err := client.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "default",
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	admin := server.Config(t)
	config := &rest.Config{Host: admin.Host, BearerToken: request.Status.Token, TLSClientConfig: admin.TLSClientConfig}
	config.CertData, config.KeyData = nil, nil
	if name, err := whoAmI(t, config); err != nil || name != "system:serviceaccount:default:default" {
		t.Errorf("the token is %q, %v", name, err)
	}
	for path, want := range map[string][]string{
		"/.well-known/openid-configuration": {`"issuer":"https://issuer.example"`, `"RS256"`},
		"/openid/v1/jwks":                   {`"kty":"RSA"`, `"alg":"RS256"`},
	} {
		data, err := client.Discovery().RESTClient().Get().AbsPath(path).DoRaw(t.Context())
		for _, part := range want {
			if err != nil || !strings.Contains(string(data), part) {
				t.Errorf("%s: %s, %v, want %s", path, data, err, part)
			}
		}
	}
}

func testRanges(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	own, err := client.CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil || own.Spec.ClusterIP != "10.0.0.1" {
		t.Errorf("the Service kubernetes has %q, %v", own.Spec.ClusterIP, err)
	}
	published, err := client.NetworkingV1().ServiceCIDRs().Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil || !slices.Equal(published.Spec.CIDRs, []string{"10.0.0.0/24"}) {
		t.Errorf("the ServiceCIDR kubernetes has %v, %v", published.Spec.CIDRs, err)
	}
	service, err := client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	port := service.Spec.Ports[0].NodePort
	if !strings.HasPrefix(service.Spec.ClusterIP, "10.0.0.") || port < 20000 || port > 20009 {
		t.Errorf("the Service has %s and %d", service.Spec.ClusterIP, port)
	}
}

// TestUnsafeSettings checks that the server does not start with settings that it cannot keep.
func TestUnsafeSettings(t *testing.T) {
	t.Parallel()
	authority := newAuthorityFiles(t)
	for want, config := range map[string]apiserver.Config{
		"have an authority in common": {
			ClientCAFile: authority.caFile, RequestHeader: options.RequestHeaderAuthenticationOptions{ClientCAFile: authority.caFile},
		},
		"belong together":       {Serving: config.Serving{CertFile: authority.caFile}},
		"tls-min-version":       {Serving: config.Serving{MinVersion: "VersionTLS14"}},
		"must be an IPv4 range": {Services: serviceip.Ranges{Addresses: netip.MustParsePrefix("fd00::/108")}},
		"must be ports between": {Services: serviceip.Ranges{NodePorts: utilnet.PortRange{Base: 65000, Size: 1000}}},
		"at least a second":     {Limits: config.Limits{EventTTL: time.Millisecond}},
		"not a URL":             {ServiceAccounts: config.ServiceAccounts{Issuers: []string{"http://%zz"}}},
	} {
		config.DataDir = t.TempDir()
		if _, err := apiserver.New(t.Context(), config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestShutdownDelay checks that a server with a delay still answers after SIGTERM, and reports
// that it is not ready.
func TestShutdownDelay(t *testing.T) {
	t.Parallel()
	process := servertest.StartProcess(t, apiserver.Config{DataDir: t.TempDir(), ShutdownDelay: time.Hour, WithoutOperators: true})
	client := process.Client(t).Discovery().RESTClient()
	if err := syscall.Kill(process.PID(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the server is not ready", func() bool {
		_, err := client.Get().AbsPath("/readyz").DoRaw(t.Context())
		return err != nil
	})
	if _, err := client.Get().AbsPath("/api/v1/namespaces").DoRaw(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestControllerRoles checks that the roles of the controllers in kube-controller-manager exist
// only on a server that leaves its controllers to one.
func TestControllerRoles(t *testing.T) {
	t.Parallel()
	for selection, want := range map[string]bool{"*": false, lifecycle.Signing: true, "-*": true} {
		t.Run(selection, func(t *testing.T) {
			t.Parallel()
			server := servertest.Start(t, apiserver.Config{Controllers: lifecycle.Selection{selection}})
			roles := server.Client(t).RbacV1()
			_, err := roles.ClusterRoles().Get(t.Context(), "system:controller:deployment-controller", metav1.GetOptions{})
			if err != nil != !want {
				t.Errorf("role: %v", err)
			}
			_, err = roles.ClusterRoleBindings().Get(t.Context(), "system:controller:deployment-controller", metav1.GetOptions{})
			if err != nil != !want {
				t.Errorf("binding: %v", err)
			}
			if _, err := roles.ClusterRoles().Get(t.Context(), "system:kube-scheduler", metav1.GetOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}
