package kubelet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

// ServiceProxy serves services/proxy.
func (k *Kubelets) ServiceProxy() rest.Storage {
	return &forwarder{
		options: func() runtime.Object { return &corev1.ServiceProxyOptions{} },
		find: func(ctx context.Context, scheme, name, port string) (target, error) {
			address, err := k.findService(ctx, name, port)
			if err != nil {
				return target{}, err
			}
			return target{&url.URL{Scheme: scheme, Host: address}, k.pods, fmt.Sprintf("service %q", name)}, nil
		},
	}
}

// findService returns the address of a pod behind a Service. The port is the name or the number
// of a port of the Service.
func (k *Kubelets) findService(ctx context.Context, name, port string) (string, error) {
	namespace, core := genericapirequest.NamespaceValue(ctx), k.client.CoreV1()
	if number, err := strconv.ParseInt(port, 10, 32); err == nil {
		service, err := core.Services(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return int64(p.Port) == number })
		if i < 0 {
			return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", number, name))
		}
		port = service.Spec.Ports[i].Name
	}
	endpoints, err := core.Endpoints(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	for _, subset := range endpoints.Subsets {
		i := slices.IndexFunc(subset.Ports, func(p corev1.EndpointPort) bool { return p.Name == port })
		if i < 0 {
			continue
		}
		for _, n := range rand.Perm(len(subset.Addresses)) {
			if k.isPod(ctx, namespace, subset.Addresses[n]) {
				return net.JoinHostPort(subset.Addresses[n].IP, strconv.Itoa(int(subset.Ports[i].Port))), nil
			}
		}
	}
	return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", name))
}

// isPod reports whether an address in Endpoints is an address of the pod in its targetRef. A user
// that may write Endpoints could otherwise reach any host through the server.
func (k *Kubelets) isPod(ctx context.Context, namespace string, address corev1.EndpointAddress) bool {
	ref := address.TargetRef
	if ref == nil || ref.Kind != "Pod" || (ref.Namespace != "" && ref.Namespace != namespace) {
		return false
	}
	pod, err := k.client.CoreV1().Pods(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	return err == nil && slices.ContainsFunc(pod.Status.PodIPs, func(ip corev1.PodIP) bool { return ip.IP == address.IP })
}
