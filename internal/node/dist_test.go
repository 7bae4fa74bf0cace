package node_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/node"
)

// metricNames returns the names of all metrics of an agent.
func metricNames(t *testing.T) map[string]bool {
	t.Helper()
	c := startCluster(t)
	a, err := node.New(node.Config{Client: c.admin, Name: "n1", Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	collector, ok := a.Metrics().(prometheus.Collector)
	if !ok {
		t.Fatalf("%T", a.Metrics())
	}
	descriptions := make(chan *prometheus.Desc, 100)
	collector.Describe(descriptions)
	close(descriptions)
	names := map[string]bool{}
	for description := range descriptions {
		name := regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(description.String())
		names[name[1]] = true
	}
	return names
}

// The functions, operators and keywords of PromQL that the rules and the dashboard use.
const promQL = "by histogram_quantile increase max min rate sum time"

// checkExpression fails if a PromQL expression has unbalanced brackets, uses a function that is not in
// promQL, or names a metric that the agent does not have.
func checkExpression(t *testing.T, expression string, known map[string]bool) {
	t.Helper()
	var open []rune
	closing := map[rune]rune{')': '(', ']': '[', '}': '{'}
	for _, r := range expression {
		switch {
		case strings.ContainsRune("([{", r):
			open = append(open, r)
		case closing[r] != 0 && (len(open) == 0 || open[len(open)-1] != closing[r]):
			t.Fatalf("unbalanced: %s", expression)
		case closing[r] != 0:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("unbalanced: %s", expression)
	}
	for _, call := range regexp.MustCompile(`\b([a-z_]+) ?\(`).FindAllStringSubmatch(expression, -1) {
		if !slices.Contains(strings.Fields(promQL), call[1]) {
			t.Errorf("no function %s: %s", call[1], expression)
		}
	}
	names := regexp.MustCompile(`holdfast_\w+`).FindAllString(expression, -1)
	if len(names) == 0 {
		t.Errorf("no metric in %q", expression)
	}
	for _, name := range names {
		if !known[name] && !known[strings.TrimSuffix(name, "_bucket")] {
			t.Errorf("no metric %s: %s", name, expression)
		}
	}
}

// TestAlertRules checks the rules for Prometheus and the dashboard for Grafana: their form, and that
// their expressions use metrics of the agent.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	known := metricNames(t)
	var rules struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			} `json:"rules"`
		} `json:"groups"`
	}
	read(t, "../../dist/prometheus/holdfast-node.rules.yaml", func(data []byte) error { return yaml.UnmarshalStrict(data, &rules) })
	if len(rules.Groups) != 1 || len(rules.Groups[0].Rules) == 0 {
		t.Fatalf("%+v", rules)
	}
	for _, rule := range rules.Groups[0].Rules {
		checkExpression(t, rule.Expr, known)
		if rule.Alert == "" || rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("incomplete: %+v", rule)
		}
		if !regexp.MustCompile(`^(\d+[smhd])?$`).MatchString(rule.For) {
			t.Errorf("%s: for: %s", rule.Alert, rule.For)
		}
		for _, text := range rule.Annotations {
			if _, err := template.New(rule.Alert).Parse("{{$labels := .Labels}}{{$value := .Value}}" + text); err != nil {
				t.Errorf("%s: %v", rule.Alert, err)
			}
		}
	}
	var dashboard struct {
		Title  string
		Panels []struct {
			ID         int
			Title      string
			Datasource struct{ UID string }
			Targets    []struct{ Expr string }
		}
	}
	read(t, "../../dist/grafana/holdfast-node.json", func(data []byte) error { return json.Unmarshal(data, &dashboard) })
	if dashboard.Title == "" || len(dashboard.Panels) == 0 {
		t.Fatalf("%+v", dashboard)
	}
	ids := map[int]bool{}
	for _, panel := range dashboard.Panels {
		if ids[panel.ID] || panel.Title == "" || len(panel.Targets) == 0 || panel.Datasource.UID != "${datasource}" {
			t.Errorf("panel %d has no title, no target, no data source, or the number of another: %+v", panel.ID, panel)
		}
		ids[panel.ID] = true
		for _, target := range panel.Targets {
			checkExpression(t, target.Expr, known)
		}
	}
}

func read(t *testing.T, file string, decode func([]byte) error) {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(file))
	if err == nil {
		err = decode(data)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
