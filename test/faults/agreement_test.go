package faults_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/waittest"
)

var errTooFew = errors.New("too few acknowledged writes")

// checkQuotas waits until the quota counts the objects that exist, and checks that it was never
// exceeded.
func checkQuotas(t *testing.T, c *client) {
	t.Helper()
	counted := map[string]string{
		"count/configmaps": kinds[0].path, "count/secrets": kinds[1].path,
		"count/widgets.faults.holdfast.dev": kinds[2].path, "services": kinds[3].path, "services.nodeports": kinds[3].path,
	}
	waittest.Until(t, "the quota counts the objects that exist", func() error {
		quota := c.get(t.Context(), "/api/v1/namespaces/faults/resourcequotas/counts")
		if quota.err != nil {
			return quota.err
		}
		for name, path := range counted {
			used, _, _ := unstructured.NestedString(quota.object, "status", "used", name)
			list := c.get(t.Context(), path)
			if list.err != nil {
				return list.err
			}
			if want := strconv.Itoa(len(items(list.object))); used != want {
				return fmt.Errorf("the quota counts %s of %s, there are %s", used, name, want)
			}
		}
		return nil
	})
	if n := len(items(c.get(t.Context(), kinds[0].path).object)); n > quotaConfigMaps {
		t.Errorf("%d ConfigMaps, the quota allows %d", n, quotaConfigMaps)
	}
}

// portRange is the range of node ports with the given number of ports.
func portRange(ports int) string { return fmt.Sprintf("30000-%d", 30000+ports-1) }

// checkServices checks that no two Services have the same address or port, and that the claims of
// addresses belong to Services. A killed server may leave a claim for each write without an answer,
// for a minute. checkServices then creates Services until no port is left: if each claim of a port
// belongs to a Service, then there is one Service for each port. ports is the number of ports of the server.
func checkServices(t *testing.T, c *client, ports, leftovers int) {
	t.Helper()
	if long() {
		leftovers = 0
	}
	created := 0
	for ; created <= ports; created++ {
		if c.create(t.Context(), kinds[3].path, kinds[3].newObject(fmt.Sprintf("fill%d", created), "fill")).err != nil {
			break
		}
	}
	services := items(c.get(t.Context(), kinds[3].path).object)
	if n := len(services); n > ports || n < ports-leftovers {
		t.Errorf("%d Services for %d ports, and %d claims may be left over", n, ports, leftovers)
	}
	holders := map[string]string{}
	hold := func(value, name string) {
		if other, held := holders[value]; held || value == "" {
			t.Errorf("Services %s and %s both have %q", name, other, value)
		}
		holders[value] = name
	}
	for _, service := range services {
		address, _, _ := unstructured.NestedString(service, "spec", "clusterIP")
		hold(address, nameOf(service))
		list, _, _ := unstructured.NestedSlice(service, "spec", "ports")
		for _, port := range list {
			hold(fmt.Sprint(port.(map[string]any)["nodePort"]), nameOf(service))
		}
	}
	claims := items(c.get(t.Context(), "/apis/networking.k8s.io/v1/ipaddresses").object)
	orphans := -1 // the Service kubernetes is in another namespace
	for _, claim := range claims {
		if _, held := holders[nameOf(claim)]; !held {
			orphans++
		}
	}
	if orphans > leftovers {
		t.Errorf("%d claims of addresses without a Service, want at most %d", orphans, leftovers)
	}
	if len(claims)-orphans-1 != len(services) {
		t.Errorf("%d claims of addresses belong to %d Services", len(claims)-orphans-1, len(services))
	}
}

// checkPlans waits until every plan is complete, and its objects have the values of the Instance. The
// objects of deleted Instances go.
func checkPlans(t *testing.T, c *client) {
	t.Helper()
	const configMaps, secrets = "/api/v1/namespaces/plans/configmaps", "/api/v1/namespaces/plans/secrets"
	waittest.Until(t, "every plan is complete", func() error {
		instances, stored := c.get(t.Context(), kinds[5].path), map[string]map[string]any{}
		if instances.err != nil {
			return instances.err
		}
		for _, path := range []string{configMaps, secrets} {
			list := c.get(t.Context(), path)
			if list.err != nil {
				return list.err
			}
			for _, object := range items(list.object) {
				stored[nameOf(object)] = object
			}
		}
		for _, instance := range items(instances.object) {
			if err := checkPlan(instance, stored); err != nil {
				return err
			}
		}
		// The controllers put this ConfigMap into every namespace.
		delete(stored, "kube-root-ca.crt")
		if want := 3 * len(items(instances.object)); len(stored) != want {
			return fmt.Errorf("%d objects of %d Instances, want %d", len(stored), want/3, want)
		}
		return nil
	})
}

func checkPlan(instance map[string]any, stored map[string]map[string]any) error {
	name := nameOf(instance)
	if plan, _, _ := unstructured.NestedString(instance, "spec", "planExecution", "planName"); plan != "" {
		status, _, _ := unstructured.NestedString(instance, "status", "planStatus", plan, "status")
		if status != "COMPLETE" {
			return fmt.Errorf("plan %s of instance %s is %s", plan, name, status)
		}
	}
	want, _, _ := unstructured.NestedString(instance, kinds[5].value...)
	for _, suffix := range []string{"-a", "-b", "-c"} {
		if got, _, _ := unstructured.NestedString(stored[name+suffix], "data", "value"); got != want {
			return fmt.Errorf("%s has %q, its Instance has %q", name+suffix, got, want)
		}
	}
	return nil
}
