package kubelet

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/transport"
)

// defaultPort is the port of a kubelet if its Node does not name one.
const defaultPort = 10250

// Config configures the connections to kubelets.
type Config struct {
	// CertFile and KeyFile are the client certificate of the server.
	CertFile, KeyFile string
	// CAFile has the authorities of the kubelets. Without it, the server does not verify them.
	CAFile string
	// AddressTypes are the types of addresses of a Node, the preferred one first; empty means
	// the order of Kubernetes.
	AddressTypes []string
	// Timeout limits the time until a connection is open; zero means five seconds.
	Timeout time.Duration
}

// addressTypes is the default order of Kubernetes.
var addressTypes = []string{
	string(corev1.NodeHostName), string(corev1.NodeInternalDNS), string(corev1.NodeInternalIP),
	string(corev1.NodeExternalDNS), string(corev1.NodeExternalIP),
}

// Kubelets opens connections to kubelets and pods. It is safe for concurrent use.
type Kubelets struct {
	client       kubernetes.Interface
	addressTypes []string
	// direct is for log, exec, attach and portforward. The server chooses their path.
	// unverified is the same without a check of the kubelet's certificate.
	direct, unverified http.RoundTripper
	// proxied is for proxy of nodes. The client chooses its path.
	proxied http.RoundTripper
	// pods is for proxy of pods and services. It presents no certificate and verifies none.
	pods http.RoundTripper
}

// New returns the connections to kubelets. The client reads Nodes, Pods and Endpoints.
func New(config Config, client kubernetes.Interface) (*Kubelets, error) {
	k := &Kubelets{client: client, addressTypes: config.AddressTypes}
	if len(k.addressTypes) == 0 {
		k.addressTypes = addressTypes
	}
	if config.Timeout == 0 {
		config.Timeout = 5 * time.Second
	}
	verified := transport.TLSConfig{
		CAFile: config.CAFile, CertFile: config.CertFile, KeyFile: config.KeyFile, ReloadTLSFiles: true, Insecure: config.CAFile == "",
	}
	unverified := verified
	unverified.CAFile, unverified.Insecure = "", true
	for _, t := range []struct {
		into    *http.RoundTripper
		tls     transport.TLSConfig
		allowed func(net.IP) bool
	}{
		{&k.direct, verified, kubeletAddress},
		{&k.unverified, unverified, kubeletAddress},
		{&k.proxied, verified, podAddress},
		{&k.pods, transport.TLSConfig{Insecure: true}, podAddress},
	} {
		made, err := transport.New(&transport.Config{
			TLS: t.tls, Proxy: noProxy, DialHolder: &transport.DialHolder{Dial: dial(t.allowed, config.Timeout)},
		})
		if err != nil {
			return nil, fmt.Errorf("connections to kubelets: %w", err)
		}
		*t.into = made
	}
	return k, nil
}

// endpoint is where the kubelet of a node listens.
type endpoint struct {
	node, host, port string
}

func (e endpoint) url(path string, query url.Values) *url.URL {
	return &url.URL{Scheme: "https", Host: net.JoinHostPort(e.host, e.port), Path: path, RawQuery: query.Encode()}
}

// find returns the endpoint of the kubelet of a node, from the status of its Node.
func (k *Kubelets) find(ctx context.Context, name string) (endpoint, error) {
	node, err := k.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return endpoint{}, err
	}
	port := int(node.Status.DaemonEndpoints.KubeletEndpoint.Port)
	if port <= 0 {
		port = defaultPort
	}
	for _, preferred := range k.addressTypes {
		for _, address := range node.Status.Addresses {
			if string(address.Type) == preferred {
				return endpoint{node: name, host: address.Address, port: strconv.Itoa(port)}, nil
			}
		}
	}
	return endpoint{}, apierrors.NewBadRequest(fmt.Sprintf(
		"node %q has no kubelet that the server can reach: its status has no address of the types %v", name, k.addressTypes))
}
