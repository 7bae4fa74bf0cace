package node_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/node"
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

// checkExpression fails if a PromQL expression has unbalanced brackets or names a metric that the
// agent does not have.
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
	read(t, "../dist/prometheus/holdfast-node.rules.yaml", func(data []byte) error { return yaml.UnmarshalStrict(data, &rules) })
	if len(rules.Groups) != 1 || len(rules.Groups[0].Rules) == 0 {
		t.Fatalf("%+v", rules)
	}
	for _, rule := range rules.Groups[0].Rules {
		checkExpression(t, rule.Expr, known)
		if rule.Alert == "" || rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("incomplete: %+v", rule)
		}
	}
	var dashboard struct {
		Title  string
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	read(t, "../dist/grafana/holdfast-node.json", func(data []byte) error { return json.Unmarshal(data, &dashboard) })
	if dashboard.Title == "" || len(dashboard.Panels) == 0 {
		t.Fatalf("%+v", dashboard)
	}
	for _, panel := range dashboard.Panels {
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
