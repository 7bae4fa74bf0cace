package aggregation_test

import (
	"io"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
	apiregistration "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
	"k8s.io/utils/ptr"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// cluster is a server of a test, with clients of its administrator.
type cluster struct {
	*servertest.Server
	config   *restclient.Config
	kube     kubernetes.Interface
	services apiregistration.APIServiceInterface
}

// start starts a server with a configuration, and creates the namespace shop.
func start(t *testing.T, settings apiserver.Config) cluster {
	t.Helper()
	server := servertest.Start(t, settings)
	config := server.Config(t)
	c := cluster{
		Server: server, config: config, kube: server.Client(t),
		services: apiregistration.NewForConfigOrDie(config).APIServices(),
	}
	servertest.CreateNamespace(t, c.kube, "shop")
	return c
}

// expose creates a Service in the namespace shop, and an EndpointSlice with the address. Without
// an IP it creates only the Service.
func (c cluster) expose(t *testing.T, name string, at netAddress) {
	t.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443}}},
	}
	if _, err := c.kube.CoreV1().Services("shop").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if at.ip == "" {
		return
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{at.ip}}},
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("https"), Port: ptr.To(at.port)}},
	}
	if _, err := c.kube.DiscoveryV1().EndpointSlices("shop").Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// remoteService returns the APIService of a version of a group that a Service in the namespace
// shop serves.
func remoteService(group, service string, ca []byte) *apiregistrationv1.APIService {
	return &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: "v1." + group},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: group, Version: "v1", Service: &apiregistrationv1.ServiceReference{Namespace: "shop", Name: service},
			CABundle: ca, GroupPriorityMinimum: 2000, VersionPriority: 10,
		},
	}
}

func (c cluster) register(t *testing.T, service *apiregistrationv1.APIService) {
	t.Helper()
	if _, err := c.services.Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// condition waits until the condition Available of an APIService has the status, and returns its
// reason.
func (c cluster) condition(t *testing.T, name string, status apiregistrationv1.ConditionStatus) string {
	t.Helper()
	var last *apiregistrationv1.APIServiceCondition
	waittest.Until(t, name+" has Available "+string(status), func() bool {
		service, err := c.services.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		last = helper.GetAPIServiceConditionByType(service, apiregistrationv1.Available)
		return last != nil && last.Status == status
	})
	return last.Reason
}

// aggregatedDiscovery is the Accept header for the document of all groups.
const aggregatedDiscovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// get sends a request and returns the status and the body of the answer.
func (c cluster) get(t *testing.T, config *restclient.Config, path string, header http.Header) (int, string) {
	t.Helper()
	client, err := restclient.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for key, values := range header {
		req.Header[key] = values
	}
	response, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}
