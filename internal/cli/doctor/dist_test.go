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

// checkDist checks that the alert rules, the dashboard and the documents use metrics that the server has, and that every
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
	if err := yaml.Unmarshal(readFile(t, "../../../dist/prometheus/holdfast.rules.yaml"), &rules); err != nil {
		t.Fatal(err)
	}
	guide := string(readFile(t, "../../../docs/reliability.md"))
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
	if err := json.Unmarshal(readFile(t, "../../../dist/grafana/holdfast.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			expressions = append(expressions, target.Expr)
		}
	}
	inDocuments := slices.Concat(
		expressionsAfter(t, "../../../docs/monitoring.md", "What to watch on the server:"),
		expressionsAfter(t, "../../../docs/scale.md", "## Which metric shows a limit"))
	if len(expressions) < 16 || len(inDocuments) < 20 {
		t.Errorf("%d expressions, and %d in documents", len(expressions), len(inDocuments))
	}
	expressions = append(expressions, inDocuments...)
	for _, expression := range expressions {
		for _, name := range metricsIn(expression) {
			// Prometheus makes the first metric, and the second one exists when a webhook has rejected a request.
			if name == "up" || name == "apiserver_admission_webhook_rejection_count" || !hasCaches && strings.HasPrefix(name, "holdfast_cache_") {
				continue
			}
			if !regexp.MustCompile(`(?m)^` + name + `(_count)?[{ ]`).MatchString(metrics) {
				t.Errorf("the server has no metric %s: %s", name, expression)
			}
		}
	}
}

// expressionsAfter returns the expressions of PromQL in the table that follows a line of a document.
func expressionsAfter(t *testing.T, file, line string) []string {
	t.Helper()
	_, rest, _ := strings.Cut(string(readFile(t, file)), "\n"+line+"\n\n")
	table, _, _ := strings.Cut(rest, "\n\n")
	var all []string
	for _, code := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(table, -1) {
		// Other words are names and values of labels.
		if regexp.MustCompile(`(apiserver|etcd|holdfast|process)_`).MatchString(code[1]) {
			all = append(all, strings.ReplaceAll(code[1], `\|`, "|"))
		}
	}
	return all
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
