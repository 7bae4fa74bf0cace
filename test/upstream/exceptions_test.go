package upstream_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// exception allows differences. An empty field matches all; the others are regular expressions
// that match the whole text. In them, {pod} stands for the path of the spec of a pod.
type exception struct {
	Kind   string `json:"kind"`
	Stage  string `json:"stage"`
	Aspect string `json:"aspect"`
	Path   string `json:"path"`
	// Ours and Theirs match the values of both sides.
	Ours   string `json:"ours"`
	Theirs string `json:"theirs"`
	// Reason says why the difference stays. One that comes with a newer version of Kubernetes
	// names the line of k8s.io/api that changed.
	Reason string `json:"reason"`
	// Long is true if only the long form is sure to meet the difference.
	Long bool `json:"long"`
	// Timed is true if the difference depends on the second in which a write runs. Not every run
	// meets it.
	Timed bool `json:"timed"`

	met int
}

func readExceptions(t *testing.T, path string) []*exception {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []*exception
	if err := yaml.UnmarshalStrict(text, &list); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, e := range list {
		if e.Reason == "" {
			t.Errorf("%s: %+v has no reason", path, *e)
		}
	}
	return list
}

func (e *exception) matches(d difference) bool {
	return matches(e.Kind, d.Kind) && matches(e.Stage, d.Stage) && matches(e.Aspect, d.Aspect) &&
		matches(e.Path, d.Path) && matches(e.Ours, d.Ours) && matches(e.Theirs, d.Theirs)
}

func matches(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	compiled, ok := patterns[pattern]
	if !ok {
		compiled = regexp.MustCompile(`^(?s:` + strings.ReplaceAll(pattern, "{pod}", pod) + `)$`)
		patterns[pattern] = compiled
	}
	return compiled.MatchString(text)
}

// patterns keeps the compiled expressions. Only one test uses it.
var patterns = map[string]*regexp.Regexp{}

// pod matches the path of the spec of a pod, or of that in a template.
const pod = `(spec\.jobTemplate\.spec\.template\.spec|spec\.template\.spec|template\.spec|spec)`
