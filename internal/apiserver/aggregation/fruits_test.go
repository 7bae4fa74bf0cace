package aggregation_test

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/compatibility"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/native/openapi"
)

var fruitVersion = schema.GroupVersion{Group: "fruit.example", Version: "v1"}

// fruitServer is an aggregated API server as k8s.io/apiserver makes it. It serves the kind
// Fruit, with the fields of a ConfigMap. It authenticates the server in front of it by the
// ConfigMap extension-apiserver-authentication, and asks that server what a user may do.
type fruitServer struct {
	address netAddress
	// ca signed its serving certificate.
	ca []byte

	mu sync.Mutex
	// headers are those of the last request for each path.
	headers map[string]http.Header
	watches *watch.Broadcaster
}

// netAddress is the address of a server of a test.
type netAddress struct {
	ip   string
	port int32
}

// hostAddress returns an address of this host that is not loopback. The server refuses to
// proxy to loopback addresses.
func hostAddress(t testing.TB) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && network.IP.IsGlobalUnicast() && network.IP.To4() != nil {
			return network.IP.String()
		}
	}
	t.Skip("this host has no address but loopback")
	return ""
}

// listenOn opens a port on an address of this host that is not loopback.
func listenOn(t testing.TB) (net.Listener, netAddress) {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(hostAddress(t), "0"))
	if err != nil {
		t.Fatal(err)
	}
	host, text, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return listener, netAddress{host, int32(port)}
}

// servingFiles writes a serving certificate for a Service, and returns its files and the
// certificate of its authority.
func servingFiles(t testing.TB, service string) (certFile, keyFile string, ca []byte) {
	t.Helper()
	authority, _, err := access.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Issue(access.Subject{User: service, Hosts: []string{service + ".shop.svc"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for file, data := range map[string][]byte{certFile: pair.Cert, keyFile: pair.Key} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile, authority.CertPEM
}

// startFruits starts an aggregated API server that trusts the server of the kubeconfig.
func startFruits(t testing.TB, kubeconfig string) *fruitServer {
	t.Helper()
	listener, address := listenOn(t)
	certFile, keyFile, ca := servingFiles(t, "fruits")
	f := &fruitServer{address: address, ca: ca, headers: map[string]http.Header{}, watches: watch.NewBroadcaster(10, watch.DropIfChannelFull)}
	scheme := fruitScheme()
	codecs := serializer.NewCodecFactory(scheme)
	config := genericapiserver.NewConfig(codecs)
	serving := options.NewSecureServingOptions().WithLoopback()
	serving.Listener, serving.BindPort = listener, int(address.port)
	serving.ServerCert.CertKey = options.CertKey{CertFile: certFile, KeyFile: keyFile}
	if err := serving.ApplyTo(&config.SecureServing, &config.LoopbackClientConfig); err != nil {
		t.Fatal(err)
	}
	applyDelegation(t, config, scheme, kubeconfig)
	inner := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(next http.Handler, c *genericapiserver.Config) http.Handler { return f.record(inner(next, c)) }
	server, err := config.Complete(nil).New("fruits", genericapiserver.NewEmptyDelegate())
	if err != nil {
		t.Fatal(err)
	}
	info := genericapiserver.NewDefaultAPIGroupInfo(fruitVersion.Group, scheme, metav1.ParameterCodec, codecs)
	info.VersionedResourcesStorageMap["v1"] = map[string]rest.Storage{"fruits": fruitREST{f}, "fruits/echo": echoREST{f}}
	if err := server.InstallAPIGroup(&info); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.PrepareRun().RunWithContext(t.Context()) }()
	t.Cleanup(func() {
		if err := <-ended; err != nil {
			t.Errorf("aggregated server ended with %v", err)
		}
	})
	return f
}

// fruitScheme returns the Go types of the aggregated server.
func fruitScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	scheme.AddUnversionedTypes(schema.GroupVersion{Version: "v1"}, &metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{},
		&metav1.APIGroup{}, &metav1.APIResourceList{})
	for _, version := range []string{fruitVersion.Version, runtime.APIVersionInternal} {
		gv := schema.GroupVersion{Group: fruitVersion.Group, Version: version}
		scheme.AddKnownTypeWithName(gv.WithKind("Fruit"), &corev1.ConfigMap{})
		scheme.AddKnownTypeWithName(gv.WithKind("FruitList"), &corev1.ConfigMapList{})
	}
	metav1.AddToGroupVersion(scheme, fruitVersion)
	return scheme
}

// applyDelegation lets the server of the kubeconfig authenticate and authorize, and publishes the
// OpenAPI documents.
func applyDelegation(t testing.TB, config *genericapiserver.Config, scheme *runtime.Scheme, kubeconfig string) {
	t.Helper()
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	namer := openapinamer.NewDefinitionNamer(scheme)
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(openapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitions, namer)
	authentication, authorization := options.NewDelegatingAuthenticationOptions(), options.NewDelegatingAuthorizationOptions()
	authentication.RemoteKubeConfigFile, authorization.RemoteKubeConfigFile = kubeconfig, kubeconfig
	if err := authentication.ApplyTo(&config.Authentication, config.SecureServing, config.OpenAPIConfig); err != nil {
		t.Fatal(err)
	}
	if err := authorization.ApplyTo(&config.Authorization); err != nil {
		t.Fatal(err)
	}
}

// record keeps the headers of requests before authentication removes any.
func (f *fruitServer) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		f.mu.Lock()
		f.headers[req.URL.Path] = req.Header.Clone()
		f.mu.Unlock()
		next.ServeHTTP(w, req)
	})
}

// received returns the headers of the last request for a path.
func (f *fruitServer) received(path string) http.Header {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.headers[path]
}
