package doctor_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// checkDist checks that the alert rules and the dashboard use metrics that the server has, and that every
// alert has a runbook in docs/reliability.md.
func checkDist(t *testing.T, metrics string) {
	t.Helper()
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr, For string
				Labels           map[string]string
				Annotations      map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(readFile(t, "../../dist/prometheus/holdfast.rules.yaml"), &rules); err != nil {
		t.Fatal(err)
	}
	guide := string(readFile(t, "../../docs/reliability.md"))
	var expressions []string
	for _, rule := range rules.Groups[0].Rules {
		expressions = append(expressions, rule.Expr)
		_, anchor, _ := strings.Cut(rule.Annotations["runbook"], "#")
		if heading := "\n### " + rule.Alert + "\n"; !strings.Contains(guide, heading) || anchor != strings.ToLower(rule.Alert) {
			t.Errorf("alert %s has the runbook %q, and docs/reliability.md must have its heading", rule.Alert, anchor)
		}
		if rule.Annotations["summary"] == "" || rule.Labels["severity"] == "" || rule.For == "" {
			t.Errorf("alert %s has no summary, severity or time", rule.Alert)
		}
	}
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(readFile(t, "../../dist/grafana/holdfast.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			expressions = append(expressions, target.Expr)
		}
	}
	if len(expressions) < 16 {
		t.Errorf("%d expressions", len(expressions))
	}
	for _, expression := range expressions {
		for _, name := range metricsIn(expression) {
			// Prometheus makes this metric.
			if name != "up" && !strings.Contains(metrics, "\n"+name+"{") && !strings.Contains(metrics, "\n"+name+" ") {
				t.Errorf("the server has no metric %s: %s", name, expression)
			}
		}
	}
}

// metricsIn returns the names of the metrics of a PromQL expression.
func metricsIn(expression string) []string {
	plain := regexp.MustCompile(`\{[^}]*\}|\[[^\]]*\]|by \([^)]*\)`).ReplaceAllString(expression, " ")
	functions := []string{"histogram_quantile", "increase", "max", "rate", "sum", "topk"}
	var names []string
	for _, name := range regexp.MustCompile(`[a-z][a-z_]*`).FindAllString(plain, -1) {
		if !slices.Contains(functions, name) {
			names = append(names, name)
		}
	}
	return names
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
