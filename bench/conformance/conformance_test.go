package conformance

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCodenames(t *testing.T) {
	t.Parallel()
	got := codenames(`- testname: B
  codename: '[sig-node] Pods should run a container''s command without
    an argument [Conformance]'
  description: ' Create a pod. codename: no'
- testname: A
  codename: '[sig-apps] Job should run [Conformance]'
  description: text
`)
	want := []string{"[sig-apps] Job should run [Conformance]", "[sig-node] Pods should run a container's command without an argument [Conformance]"}
	if !slices.Equal(got, want) {
		t.Errorf("codenames are %q, want %q", got, want)
	}
}

func TestReadReport(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "junit_01.xml")
	if err := os.WriteFile(file, []byte(`<testsuites><testsuite>
<testcase name="[SynchronizedBeforeSuite]" status="passed" time="0.1"></testcase>
<testcase name="[It] a" status="passed" time="1.5"></testcase>
<testcase name="[It] b" status="failed" time="2"><failure type="failed">[FAILED] no pod
stack</failure></testcase>
<testcase name="[It] c" status="skipped" time="0"><skipped message="skipped"></skipped></testcase>
<testcase name="[It] d" status="skipped" time="0"><skipped message="skipped - needs two nodes"></skipped></testcase>
<testcase name="[It] e" status="timedout" time="9"><error type="timedout">late</error></testcase>
</testsuite></testsuites>`), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := readReport(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Result{
		"a": {Verdict: Passed, Seconds: 1.5}, "b": {Verdict: Failed, Message: "[FAILED] no pod\nstack", Seconds: 2},
		"d": {Verdict: Skipped, Message: "needs two nodes"}, "e": {Verdict: Late, Message: "late", Seconds: 9},
	}
	for name, result := range want {
		if got[name] != result {
			t.Errorf("%s is %+v, want %+v", name, got[name], result)
		}
	}
	if len(got) != len(want) {
		t.Errorf("the report has %d results, want %d", len(got), len(want))
	}
}

// The page has a line for each test, counts them, and names the tests that pass on the other server only.
func TestPage(t *testing.T) {
	t.Parallel()
	page := Page{
		Names:      []string{"[sig-apps] one", "[sig-apps] two", "[sig-node] three", "[sig-node] four"},
		Containers: map[string]string{"[sig-node] three": "reads the output of a container"},
		Simulated:  map[string]bool{"[sig-apps] two": true}, Results: Results{}, Here: "ours", There: "theirs", Version: "1.2.3",
	}
	page.Results.Set("[sig-apps] one", "ours", Result{Verdict: Passed})
	page.Results.Set("[sig-apps] one", "theirs", Result{Verdict: Passed})
	page.Results.Set("[sig-apps] two", "ours", Result{Verdict: Failed, Message: "no pod\nstack"})
	page.Results.Set("[sig-apps] two", "theirs", Result{Verdict: Passed})
	if missing := page.Missing(); !slices.Equal(missing, []string{"[sig-node] four"}) {
		t.Errorf("missing are %q", missing)
	}
	if unknown := page.Unknown(); len(unknown) != 0 {
		t.Errorf("unknown are %q", unknown)
	}
	text := page.Markdown()
	for _, want := range []string{
		"Kubernetes 1.2.3 has 4 tests. 1 of them need", "1 tests pass on theirs and not on ours:\n\n- \\[sig-apps\\] two: `no pod`\n",
		"\n| all | 4 | 1 | 3 | 1 | 2 |\n", "\n| sig-apps | 2 | 0 | 2 | 1 | 2 |\n", "\n| \\[sig-apps\\] two | simulated | fails | passes |\n",
		"\n| \\[sig-node\\] four | hollow | not run | not run |\n", "\nThe test reads the output of a container:\n\n- \\[sig-node\\] three\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q:\n%s", want, text)
		}
	}
}

// A test is in one of the lists at most, and each test that needs containers has a reason.
func TestLists(t *testing.T) {
	t.Parallel()
	simulated := Simulated()
	for name, reason := range Containers() {
		if reason == "" || simulated[name] {
			t.Errorf("%s: reason %q, simulated %t", name, reason, simulated[name])
		}
	}
}
