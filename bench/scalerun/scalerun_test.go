package scalerun

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// A percentile is at most 2 % above the duration with its rank, and never above the longest.
func TestPercentile(t *testing.T) {
	var h histogram
	if got := h.latency(); got != (Latency{}) {
		t.Errorf("no durations: %+v", got)
	}
	for i := 1; i <= 1000; i++ {
		h.add(time.Duration(i) * time.Millisecond)
	}
	for part, want := range map[float64]time.Duration{0.5: 500 * time.Millisecond, 0.99: 990 * time.Millisecond, 1: time.Second} {
		if got := h.percentile(part); got < want || float64(got) > 1.02*float64(want) {
			t.Errorf("percentile %v: %s, want %s", part, got, want)
		}
	}
	for _, d := range []time.Duration{0, time.Nanosecond, 10 * time.Hour} {
		var one histogram
		one.add(d)
		if got := one.percentile(0.99); got != min(d, got) || (d > time.Microsecond && got < time.Hour) {
			t.Errorf("one duration of %s: %s", d, got)
		}
	}
}

// An event is measured from the start of the request that made its change, in whatever order the answer and the events arrive. The events of a
// change that no client of the run made are not measured.
func TestLag(t *testing.T) {
	var found []time.Duration
	l := newLags(func(d time.Duration) { found = append(found, d) })
	sent := time.Now()
	at := func(milliseconds int) time.Time { return sent.Add(time.Duration(milliseconds) * time.Millisecond) }
	l.arrived("100", at(3)) // before the answer
	l.wrote("100", sent)
	l.arrived("100", at(5))
	l.arrived("101", at(6)) // of another client
	l.wrote("", sent)       // an answer without a revision
	l.wrote("100", at(9))   // a request that changed nothing
	l.arrived("100", at(10))
	l.wrote(strconv.Itoa(100+kept), at(20)) // takes the place of 100
	l.arrived("100", at(30))
	l.arrived(strconv.Itoa(100+kept), at(21))
	want := []time.Duration{3 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, time.Millisecond}
	if len(found) != len(want) {
		t.Fatalf("lags %v, want %v", found, want)
	}
	for i := range want {
		if found[i] != want[i] {
			t.Errorf("lag %d is %s, want %s", i, found[i], want[i])
		}
	}
}

const runningPod = `{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"app001-000007-0","namespace":"scale-01",` +
	`"uid":"1","resourceVersion":"42","labels":{"name":"other"}},"spec":{},"status":{"phase":"Running"}}}`

func TestParseEvent(t *testing.T) {
	for name, test := range map[string]struct {
		line string
		want event
	}{
		"a pod that runs": {runningPod, event{kind: "MODIFIED", namespace: "scale-01", name: "app001-000007-0", revision: "42", running: true}},
		"a pod that is being deleted": {
			strings.Replace(strings.Replace(runningPod, `"42",`, `"43","deletionTimestamp":"2026-01-01T00:00:00Z",`, 1), "Running", "Pending", 1),
			event{kind: "MODIFIED", namespace: "scale-01", name: "app001-000007-0", revision: "43", deleting: true},
		},
		"the end of the objects that existed": {
			`{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}`,
			event{kind: "BOOKMARK", revision: "9", complete: true},
		},
		"an error": {`{"type":"ERROR","object":{"kind":"Status","metadata":{},"code":410}}`, event{kind: "ERROR"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := parseEvent([]byte(test.line)); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

// The tally counts by events, and begins again with a watch that begins again.
func TestTally(t *testing.T) {
	tally := newTally()
	check := func(step string, pods, running int) {
		t.Helper()
		if gotPods, gotRunning := tally.count(); gotPods != pods || gotRunning != running {
			t.Errorf("%s: %d pods, %d run; want %d and %d", step, gotPods, gotRunning, pods, running)
		}
	}
	see := func(kind, name string, runs, initial bool) {
		tally.see(event{kind: kind, name: name, running: runs, initial: initial})
	}
	end := event{kind: "BOOKMARK", initial: true, complete: true}
	tally.see(end)
	check("without pods", 0, 0)
	see("ADDED", "a", false, false)
	see("ADDED", "b", true, false)
	see("MODIFIED", "a", true, false)
	see("MODIFIED", "a", true, false)
	check("two pods run", 2, 2)
	see("DELETED", "b", true, false)
	check("one is deleted", 1, 1)
	see("ADDED", "c", true, true)
	see("ADDED", "d", false, true)
	check("before the end of the objects", 1, 1)
	tally.see(end)
	check("after it", 2, 1)
}

// The report marks latencies above the service level, and says which side has which figures.
func TestReport(t *testing.T) {
	r := &Result{CPUs: 2, Memory: 1000, Command: "make scale-run", Sides: []*Side{
		{Name: "Holdfast", Phases: []*Phase{{Name: Steady, Seconds: 60, CPU: 6, Requests: []Requests{
			{Verb: "get", Resource: "pods", Latency: Latency{Count: 10, P50: 2, P99: 999}},
			{Verb: "list", Resource: "all pods", Latency: Latency{Count: 1, P99: 29_999}, Errors: 1, Failure: "gone\naway"},
		}}}},
		{Name: "kube-apiserver", Note: "Less memory.", Phases: []*Phase{{Name: Steady, Seconds: 61, Requests: []Requests{
			{Verb: "get", Resource: "pods", Latency: Latency{Count: 9, P99: 1001}},
		}}}},
	}}
	report := r.Markdown()
	for _, want := range []string{
		"| nothing changes | Holdfast | 60.0 s | 6.0 s |", "| nothing changes | kube-apiserver | 61.0 s |", "kube-apiserver: Less memory.",
		"| get pods | Holdfast | 10 | 2.0 ms | 999 ms | 0.0 ms | 1 s | 0 |", "| list all pods | Holdfast | 1 | 0.0 ms | 30.0 s | 0.0 ms | 30 s | 1 |",
		"| get pods | kube-apiserver | 9 | 0.0 ms | **1001 ms** |", "the last error was `gone away`",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("the report has no %q:\n%s", want, report)
		}
	}
	file := t.TempDir() + "/run.json"
	if none, err := Read(file); none != nil || err != nil {
		t.Errorf("without a file: %v, %v", none, err)
	}
	if err := r.Write(file); err != nil {
		t.Fatal(err)
	}
	read, err := Read(file)
	if err != nil || read.Markdown() != report {
		t.Errorf("the report of the file differs: %v", err)
	}
}
