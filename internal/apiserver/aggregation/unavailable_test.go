package aggregation_test

import (
	"net/http"
	"strings"
	"testing"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// If the server of a group is not there, the group is listed, answers 503 with the reason, and is
// stale in discovery. Other groups are not affected.
func TestUnavailableServer(t *testing.T) {
	t.Parallel()
	c := start(t, apiserver.Config{})
	c.expose(t, "metrics", netAddress{})
	c.register(t, remoteService("metrics.example", "metrics", []byte("x")))
	c.register(t, remoteService("gone.example", "nowhere", []byte("x")))
	if reason := c.condition(t, "v1.gone.example", apiregistrationv1.ConditionFalse); reason != "ServiceNotFound" {
		t.Errorf("gone.example is not available because of %s", reason)
	}
	if reason := c.condition(t, "v1.metrics.example", apiregistrationv1.ConditionFalse); reason != "EndpointsNotFound" {
		t.Errorf("metrics.example is not available because of %s", reason)
	}
	c.addEndpointsThatAreNotReady(t)
	const path = "/apis/metrics.example/v1/nodes"
	waittest.Until(t, "the answer has the reason", func() bool {
		status, body := c.get(t, c.config, path, nil)
		return status == http.StatusServiceUnavailable && strings.Contains(body, "MissingEndpoints") &&
			yamltest.Known[metav1.Status](t, body).Reason == metav1.StatusReasonServiceUnavailable
	})
	waittest.Until(t, "the group is stale", func() bool {
		_, body := c.get(t, c.config, "/apis", http.Header{"Accept": {aggregatedDiscovery}})
		list := yamltest.Known[apidiscoveryv2.APIGroupDiscoveryList](t, body)
		version, apps := versionOf(list, "metrics.example"), versionOf(list, "apps")
		return version != nil && version.Freshness == apidiscoveryv2.DiscoveryFreshnessStale &&
			apps.Freshness == apidiscoveryv2.DiscoveryFreshnessCurrent
	})
	groups, resources, err := c.kube.Discovery().ServerGroupsAndResources()
	if err == nil || !strings.Contains(err.Error(), "metrics.example/v1") || strings.Contains(err.Error(), "apps/v1") {
		t.Errorf("discovery fails with %v", err)
	}
	if len(groups) == 0 || len(resources) < 10 {
		t.Errorf("discovery has %d groups and %d group versions", len(groups), len(resources))
	}
	if status, body := c.get(t, c.config, "/openapi/v3/apis/apps/v1", nil); status != http.StatusOK {
		t.Errorf("OpenAPI of apps: %d %s", status, body)
	}
}

func (c cluster) addEndpointsThatAreNotReady(t *testing.T) {
	t.Helper()
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "metrics", Labels: map[string]string{discoveryv1.LabelServiceName: "metrics"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(false)}}},
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("https"), Port: ptr.To[int32](443)}},
	}
	if _, err := c.kube.DiscoveryV1().EndpointSlices("shop").Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
