package node_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/waittest"
)

// gauge returns the value of a metric of the agent, by its name and the values of its labels.
// The value of a histogram is the number of its samples.
func (a *agent) gauge(t testing.TB, name string, labels ...string) float64 {
	t.Helper()
	families, err := a.Metrics().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			var values []string
			for _, pair := range metric.GetLabel() {
				values = append(values, pair.GetValue())
			}
			if slices.Equal(values, labels) {
				return metric.GetGauge().GetValue() + metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
			}
		}
	}
	t.Fatalf("no metric %s %v", name, labels)
	return 0
}

func TestMetrics(t *testing.T) {
	address := fmt.Sprintf("127.0.0.1:%d", servertest.FreePort(t))
	c := startCluster(t)
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}`)
	a := c.startAgent(t, node.Config{Name: "n1", MetricsAddress: address})
	c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}, {name: gone, secret: {secretName: gone}}]`))
	a.waitForFile(c, t, "web", "conf/app.conf", "one")
	c.waitForCondition(t, "web", "False", "secret "+c.namespace+"/gone not found")
	read := func() string {
		response, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	for _, want := range []string{
		`holdfast_node_objects_in_use{kind="configmap",mode="watched"} 1`,
		`holdfast_node_objects_in_use{kind="secret",mode="immutable"} 0`,
		"holdfast_node_projected_volumes 1", "holdfast_node_open_watches ", "holdfast_node_refresh_failures_total ",
	} {
		if text := read(); !strings.Contains(text, "\n"+want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if a.gauge(t, "holdfast_node_refresh_failures_total") == 0 || a.gauge(t, "holdfast_node_oldest_unrefreshed_volume_seconds") == 0 {
		t.Error("a volume that is not ready is not counted")
	}
	c.setData(t, "app", "two")
	a.waitForFile(c, t, "web", "conf/app.conf", "two")
	waittest.Until(t, "the time from the change to the files is measured", func() bool {
		return a.gauge(t, "holdfast_node_change_lag_seconds") > 0
	})
	c.apply(t, `{kind: Secret, metadata: {name: gone}, stringData: {password: hunter2}}`)
	waittest.Until(t, "nothing is unrefreshed", func() bool {
		return a.gauge(t, "holdfast_node_oldest_unrefreshed_volume_seconds") == 0
	})
}
