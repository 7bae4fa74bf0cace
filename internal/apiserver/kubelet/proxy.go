package kubelet

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/registry/rest"
)

// target is what a proxy forwards to.
type target struct {
	location  *url.URL
	transport http.RoundTripper
	name      string
}

// forwarder serves the subresource proxy of nodes, pods or services.
type forwarder struct {
	connector
	// options returns a new object for the query of a request.
	options func() runtime.Object
	// find returns the target of a request. Scheme, name and port are the parts of the name in
	// the URL, such as https:web:8443; scheme and port may be empty.
	find func(ctx context.Context, scheme, name, port string) (target, error)
}

var _ rest.Connecter = &forwarder{}

// New implements rest.Storage.
func (f *forwarder) New() runtime.Object { return f.options() }

// NewConnectOptions implements rest.Connecter.
func (f *forwarder) NewConnectOptions() (runtime.Object, bool, string) {
	return f.options(), true, "path"
}

// ConnectMethods implements rest.Connecter.
func (*forwarder) ConnectMethods() []string { return proxyMethods }

// Connect implements rest.Connecter.
func (f *forwarder) Connect(ctx context.Context, id string, options runtime.Object, responder rest.Responder) (http.Handler, error) {
	scheme, name, port, valid := utilnet.SplitSchemeNamePort(id)
	if !valid {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid proxy request %q", id))
	}
	to, err := f.find(ctx, scheme, name, port)
	if err != nil {
		return nil, err
	}
	to.location.Path = utilnet.JoinPreservingTrailingSlash(to.location.Path, pathOf(options))
	return forwarding{location: to.location, transport: to.transport, target: to.name, responder: responder}.proxy(), nil
}

func pathOf(options runtime.Object) string {
	switch options := options.(type) {
	case *corev1.NodeProxyOptions:
		return options.Path
	case *corev1.PodProxyOptions:
		return options.Path
	case *corev1.ServiceProxyOptions:
		return options.Path
	}
	return ""
}

// NodeProxy serves nodes/proxy. The server presents its client certificate to the port of the
// kubelet only, because any process of the node may listen on the other ports.
func (k *Kubelets) NodeProxy() rest.Storage {
	return &forwarder{
		options: func() runtime.Object { return &corev1.NodeProxyOptions{} },
		find: func(ctx context.Context, scheme, name, port string) (target, error) {
			kubelet, err := k.find(ctx, name)
			if err != nil {
				return target{}, err
			}
			if err := requirePodAddress(ctx, kubelet.host); err != nil {
				return target{}, apierrors.NewBadRequest(err.Error())
			}
			if port == "" || port == kubelet.port {
				return target{kubelet.url("", nil), k.proxied, kubelet.target()}, nil
			}
			location := &url.URL{Scheme: scheme, Host: net.JoinHostPort(kubelet.host, port)}
			return target{location, k.pods, fmt.Sprintf("port %s of node %q", port, name)}, nil
		},
	}
}

// requirePodAddress returns an error if a host has an address that a proxy must not connect to.
// The error is for the user: the server checks the address again when it connects.
func requirePodAddress(ctx context.Context, host string) error {
	addresses, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return err
	}
	for _, address := range addresses {
		if !podAddress(address.IP) {
			return errAddress
		}
	}
	return nil
}

// PodProxy serves pods/proxy.
func (k *Kubelets) PodProxy(pods rest.Getter) rest.Storage {
	return &forwarder{
		options: func() runtime.Object { return &corev1.PodProxyOptions{} },
		find: func(ctx context.Context, scheme, name, port string) (target, error) {
			pod, err := getPod(ctx, pods, name)
			if err != nil {
				return target{}, err
			}
			if port == "" {
				port = firstPort(pod)
			}
			ip := net.ParseIP(pod.Status.PodIP)
			if ip == nil || !podAddress(ip) {
				return target{}, apierrors.NewBadRequest(errAddress.Error())
			}
			location := &url.URL{Scheme: scheme, Host: net.JoinHostPort(ip.String(), port)}
			if port == "" {
				location.Host = hostOf(ip)
			}
			return target{location, k.pods, fmt.Sprintf("pod %q", name)}, nil
		},
	}
}

// firstPort returns the first port that a container of the pod names, or "".
func firstPort(pod *corev1.Pod) string {
	for i := range pod.Spec.Containers {
		if ports := pod.Spec.Containers[i].Ports; len(ports) > 0 {
			return strconv.Itoa(int(ports[0].ContainerPort))
		}
	}
	return ""
}

// hostOf returns an address as the host of a URL without a port.
func hostOf(ip net.IP) string {
	if ip.To4() == nil {
		return "[" + ip.String() + "]"
	}
	return ip.String()
}
