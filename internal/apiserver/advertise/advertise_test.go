package advertise_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// wrongPort is a target port that a test gives the Service; no server listens on it.
const wrongPort = 1

// advertised returns the Service, its Endpoints and its EndpointSlices as one line each.
func advertised(t *testing.T, client kubernetes.Interface) (service, endpoints, endpointSlices string) {
	t.Helper()
	if found, err := client.CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{}); err == nil {
		port := found.Spec.Ports[0]
		service = fmt.Sprintf("%s %s %d", found.Spec.ClusterIP, port.Name, port.Port)
		if port.TargetPort.IntValue() == wrongPort {
			service += " wrong target port"
		}
	}
	var lines []string
	if found, err := client.CoreV1().Endpoints("default").Get(t.Context(), "kubernetes", metav1.GetOptions{}); err == nil {
		for _, subset := range found.Subsets {
			for _, address := range subset.Addresses {
				lines = append(lines, fmt.Sprintf("%s:%d", address.IP, subset.Ports[0].Port))
			}
		}
	}
	slices.Sort(lines)
	endpoints = strings.Join(lines, " ")
	lines = nil
	list, err := client.DiscoveryV1().EndpointSlices("default").List(t.Context(),
		metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=kubernetes"})
	if err != nil {
		t.Fatal(err)
	}
	for _, slice := range list.Items {
		for _, endpoint := range slice.Endpoints {
			lines = append(lines, fmt.Sprintf("%s:%d", endpoint.Addresses[0], *slice.Ports[0].Port))
		}
	}
	slices.Sort(lines)
	return service, endpoints, strings.Join(lines, " ")
}

func awaitAdvertised(t *testing.T, client kubernetes.Interface, want ...string) {
	t.Helper()
	slices.Sort(want)
	servers := strings.Join(want, " ")
	waittest.Until(t, "the servers are "+servers, func() error {
		service, endpoints, endpointSlices := advertised(t, client)
		if service != "10.96.0.1 https 443" || endpoints != servers || endpointSlices != servers {
			return fmt.Errorf("service %s, endpoints %s, slices %s", service, endpoints, endpointSlices)
		}
		return nil
	})
}

func portOf(t *testing.T, server *servertest.Server) string {
	t.Helper()
	address, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	return address.Port()
}

// TestServiceKubernetesComesBack checks that the Service kubernetes has its endpoints when
// the server is ready, and that the server restores each part that a client deletes or
// changes.
func TestServiceKubernetesComesBack(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{AdvertiseAddress: "192.0.2.10"})
	client, own := server.Client(t), "192.0.2.10:"+portOf(t, server)
	service, found, foundSlices := advertised(t, client)
	if service != "10.96.0.1 https 443" || found != own || foundSlices != own {
		t.Errorf("when ready: service %s, endpoints %s, slices %s", service, found, foundSlices)
	}
	services, endpointSlices := client.CoreV1().Services("default"), client.DiscoveryV1().EndpointSlices("default")
	endpoints := client.CoreV1().Endpoints("default")
	changeService := func(change func(*corev1.ServicePort)) error {
		found, err := services.Get(t.Context(), "kubernetes", metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(&found.Spec.Ports[0])
		_, err = services.Update(t.Context(), found, metav1.UpdateOptions{})
		return err
	}
	for name, damage := range map[string]func() error{
		"service deleted":   func() error { return services.Delete(t.Context(), "kubernetes", metav1.DeleteOptions{}) },
		"endpoints deleted": func() error { return endpoints.Delete(t.Context(), "kubernetes", metav1.DeleteOptions{}) },
		"slice deleted":     func() error { return endpointSlices.Delete(t.Context(), "kubernetes", metav1.DeleteOptions{}) },
		"endpoints changed": func() error {
			found, err := endpoints.Get(t.Context(), "kubernetes", metav1.GetOptions{})
			if err != nil {
				return err
			}
			found.Subsets[0].Addresses[0].IP = "192.0.2.66"
			_, err = endpoints.Update(t.Context(), found, metav1.UpdateOptions{})
			return err
		},
		"slice changed": func() error {
			found, err := endpointSlices.Get(t.Context(), "kubernetes", metav1.GetOptions{})
			if err != nil {
				return err
			}
			found.Endpoints[0].Addresses[0] = "192.0.2.66"
			_, err = endpointSlices.Update(t.Context(), found, metav1.UpdateOptions{})
			return err
		},
		"target port changed": func() error {
			return changeService(func(port *corev1.ServicePort) { port.TargetPort = intstr.FromInt32(wrongPort) })
		},
		"port changed": func() error {
			return changeService(func(port *corev1.ServicePort) { port.Port = 8443 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			awaitAdvertised(t, client, own)
		})
	}
}

// TestReplicasAreAdvertised checks that the Service lists all servers that share an etcd.
// A server leaves the list when it stops, or when its Lease expires.
func TestReplicasAreAdvertised(t *testing.T) {
	t.Parallel()
	cluster := etcd.Cluster{Servers: []string{servertest.StartEtcd(t, transport.TLSInfo{})}}
	one := servertest.Start(t, apiserver.Config{Etcd: cluster, AdvertiseAddress: "192.0.2.10"})
	two := servertest.Start(t, apiserver.Config{Etcd: cluster, AdvertiseAddress: "2001:db8::11"})
	client := one.Client(t)
	first, second := "192.0.2.10:"+portOf(t, one), "2001:db8::11:"+portOf(t, two)
	awaitAdvertised(t, client, first, second)

	// The third server exists only as a Lease, which the test writes.
	leases := client.CoordinationV1().Leases("kube-system")
	// The Lease does not expire before the test says so.
	renewed := metav1.NewMicroTime(time.Now().Add(time.Hour))
	third, err := leases.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: "apiserver-third", Labels: map[string]string{"apiserver.kubernetes.io/identity": "holdfast"},
			Annotations: map[string]string{"holdfast.dev/endpoint": "192.0.2.12:6443"},
		},
		Spec: coordinationv1.LeaseSpec{RenewTime: &renewed},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	awaitAdvertised(t, client, first, second, "192.0.2.12:6443")
	old := metav1.NewMicroTime(time.Now().Add(-time.Minute))
	third.Spec.RenewTime = &old
	if _, err := leases.Update(t.Context(), third, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitAdvertised(t, client, first, second)

	if err := two.Stop(); err != nil {
		t.Fatal(err)
	}
	awaitAdvertised(t, client, first)
}
