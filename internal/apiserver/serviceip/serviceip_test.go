package serviceip_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

func service(name string, change func(*corev1.ServiceSpec)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if change != nil {
		change(&s.Spec)
	}
	return s
}

// addresses returns the claimed cluster IPs, each with the name of its Service.
func addresses(t *testing.T, client kubernetes.Interface) map[string]string {
	t.Helper()
	list, err := client.NetworkingV1().IPAddresses().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	claimed := map[string]string{}
	for i := range list.Items {
		claimed[list.Items[i].Name] = list.Items[i].Spec.ParentRef.Name
	}
	return claimed
}

func TestServicesGetAddressesAndPorts(t *testing.T) {
	t.Parallel()
	client := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()}).Client(t)
	services := client.CoreV1().Services("default")
	create := func(s *corev1.Service) (*corev1.Service, error) {
		return services.Create(t.Context(), s, metav1.CreateOptions{})
	}
	must := func(s *corev1.Service, err error) *corev1.Service {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	refused := func(want string, s *corev1.Service) {
		t.Helper()
		if _, err := create(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}

	plain := must(create(service("plain", nil)))
	if plain.Spec.ClusterIP == "" || plain.Spec.ClusterIPs[0] != plain.Spec.ClusterIP {
		t.Errorf("plain has %q, %q", plain.Spec.ClusterIP, plain.Spec.ClusterIPs)
	}
	// The creator does not own what the server allocates.
	owned := plain.ManagedFields[0].FieldsV1.GetRawString()
	for _, field := range []string{"f:clusterIP", "f:clusterIPs", "f:ipFamilies", "f:ipFamilyPolicy"} {
		if strings.Contains(owned, `"`+field+`"`) {
			t.Errorf("the creator of a Service owns %s: %s", field, owned)
		}
	}
	for _, other := range []string{"10.96.9.9", "no-address"} {
		patch := []byte(`{"spec": {"clusterIPs": ["` + other + `"]}}`)
		if _, err := services.Patch(t.Context(), "plain", types.MergePatchType, patch, metav1.PatchOptions{}); !apierrors.IsInvalid(err) {
			t.Errorf("clusterIPs became %s: %v", other, err)
		}
	}
	chosen := must(create(service("chosen", func(s *corev1.ServiceSpec) { s.ClusterIP = "10.96.3.4" })))
	headless := must(create(service("headless", func(s *corev1.ServiceSpec) { s.ClusterIP = "None" })))
	if headless.Spec.ClusterIP != "None" {
		t.Errorf("headless has %q", headless.Spec.ClusterIP)
	}
	ports := must(create(service("ports", func(s *corev1.ServiceSpec) {
		s.Type = corev1.ServiceTypeNodePort
		s.Ports = []corev1.ServicePort{{Name: "a", Port: 80}, {Name: "b", Port: 81, NodePort: 30001}}
	})))
	if port := ports.Spec.Ports[0].NodePort; port < 30000 || port > 32767 || port == 30001 {
		t.Errorf("ports has node port %d", port)
	}

	refused("provided IP is already allocated", service("second", func(s *corev1.ServiceSpec) { s.ClusterIP = "10.96.3.4" }))
	refused("not in the valid range. The range of valid IPs is 10.96.0.0/16",
		service("outside", func(s *corev1.ServiceSpec) { s.ClusterIP = "192.0.2.1" }))
	refused("must be empty when `clusterIP` is not specified", service("second", func(s *corev1.ServiceSpec) {
		s.ClusterIPs = []string{"/a", "b"}
	}))
	refused("provided port is already allocated", service("second", func(s *corev1.ServiceSpec) {
		s.Type, s.Ports[0].NodePort = corev1.ServiceTypeNodePort, 30001
	}))
	refused("The range of valid ports is 30000-32767", service("second", func(s *corev1.ServiceSpec) {
		s.Type, s.Ports[0].NodePort = corev1.ServiceTypeNodePort, 8080
	}))
	if _, err := services.Create(t.Context(), service("dry", nil), metav1.CreateOptions{DryRun: []string{"All"}}); err != nil {
		t.Error(err)
	}

	// In a Service of another type the number in this field is no node port: the server
	// neither allocates nor releases it.
	must(create(service("name", func(s *corev1.ServiceSpec) {
		s.Type, s.ExternalName, s.Ports[0].NodePort = corev1.ServiceTypeExternalName, "example.com", 30001
	})))
	if err := services.Delete(t.Context(), "name", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	refused("provided port is already allocated", service("second", func(s *corev1.ServiceSpec) {
		s.Type, s.Ports[0].NodePort = corev1.ServiceTypeNodePort, 30001
	}))
	// With allocateLoadBalancerNodePorts: false, only the ports that the client names are
	// allocated.
	none := false
	refused("provided port is already allocated", service("second", func(s *corev1.ServiceSpec) {
		s.Type, s.AllocateLoadBalancerNodePorts, s.Ports[0].NodePort = corev1.ServiceTypeLoadBalancer, &none, 30001
	}))
	balancer := must(create(service("balancer", func(s *corev1.ServiceSpec) {
		s.Type, s.AllocateLoadBalancerNodePorts = corev1.ServiceTypeLoadBalancer, &none
		s.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	})))
	if ports, health := balancer.Spec.Ports[0].NodePort, balancer.Spec.HealthCheckNodePort; ports != 0 || health < 30000 {
		t.Errorf("balancer has port %d, and %d for its health", ports, health)
	}
	if err := services.Delete(t.Context(), "balancer", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}

	// An update without the allocated values keeps them.
	bare := service("plain", nil)
	bare.Labels = map[string]string{"a": "b"}
	if updated := must(services.Update(t.Context(), bare, metav1.UpdateOptions{})); updated.Spec.ClusterIP != plain.Spec.ClusterIP {
		t.Errorf("plain went from %s to %s", plain.Spec.ClusterIP, updated.Spec.ClusterIP)
	}
	ports.Spec.Type = corev1.ServiceTypeClusterIP
	ports = must(services.Update(t.Context(), ports, metav1.UpdateOptions{}))
	if port := ports.Spec.Ports[0].NodePort; port != 0 {
		t.Errorf("a service of type ClusterIP has node port %d", port)
	}
	must(create(service("next", func(s *corev1.ServiceSpec) {
		s.Type, s.Ports[0].NodePort = corev1.ServiceTypeNodePort, 30001
	})))

	want := map[string]string{
		"10.96.0.1": "kubernetes", plain.Spec.ClusterIP: "plain", chosen.Spec.ClusterIP: "chosen", ports.Spec.ClusterIP: "ports",
	}
	claimed := addresses(t, client)
	next := must(services.Get(t.Context(), "next", metav1.GetOptions{}))
	want[next.Spec.ClusterIP] = "next"
	if diff := cmp.Diff(want, claimed); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	for _, name := range []string{"plain", "chosen", "headless", "ports", "next"} {
		if err := services.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(map[string]string{"10.96.0.1": "kubernetes"}, addresses(t, client)); diff != "" {
		t.Errorf("claims after deletion (-want +got):\n%s", diff)
	}
}

// A server that starts adds the claims that are missing.
func TestClaimsAreRepaired(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := servertest.Start(t, apiserver.Config{DataDir: dir})
	client := server.Client(t)
	created, err := client.CoreV1().Services("default").Create(t.Context(), service("kept", nil), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.NetworkingV1().IPAddresses().Delete(t.Context(), created.Spec.ClusterIP, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	client = servertest.Start(t, apiserver.Config{DataDir: dir}).Client(t)
	waittest.Until(t, "the address of the service is claimed again", func() error {
		if claimed := addresses(t, client); claimed[created.Spec.ClusterIP] != "kept" {
			return fmt.Errorf("claimed are %v", claimed)
		}
		return nil
	})
}

// Services that are created at the same time never share an address or a port.
func TestServicesAtOneTime(t *testing.T) {
	t.Parallel()
	client := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()}).Client(t)
	const writers, each = 8, 10
	created := make(chan *corev1.Service, writers*each)
	var running sync.WaitGroup
	for writer := range writers {
		running.Go(func() {
			for i := range each {
				s, err := client.CoreV1().Services("default").Create(t.Context(),
					service(fmt.Sprintf("s-%d-%d", writer, i), func(s *corev1.ServiceSpec) { s.Type = corev1.ServiceTypeNodePort }),
					metav1.CreateOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				created <- s
			}
		})
	}
	running.Wait()
	close(created)
	seen := map[string]string{}
	for s := range created {
		for _, value := range []string{s.Spec.ClusterIP, fmt.Sprint(s.Spec.Ports[0].NodePort)} {
			if other, taken := seen[value]; taken {
				t.Errorf("%s and %s both have %s", s.Name, other, value)
			}
			seen[value] = s.Name
		}
	}
	if len(seen) != 2*writers*each {
		t.Errorf("%d values for %d services", len(seen), writers*each)
	}
}

// TestRangeIsPublished checks that the server has its range of cluster IPs as a ServiceCIDR.
func TestRangeIsPublished(t *testing.T) {
	t.Parallel()
	client := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()}).Client(t)
	published, err := client.NetworkingV1().ServiceCIDRs().Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"10.96.0.0/16"}, published.Spec.CIDRs); diff != "" {
		t.Errorf("ranges (-want +got):\n%s", diff)
	}
	if conditions := published.Status.Conditions; len(conditions) != 1 || conditions[0].Type != "Ready" || conditions[0].Status != "True" {
		t.Errorf("conditions %v", conditions)
	}
}
