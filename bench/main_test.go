package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast.dev/holdfast/bench/attack"
	"holdfast.dev/holdfast/bench/cluster"
	"holdfast.dev/holdfast/bench/compare"
	"holdfast.dev/holdfast/bench/scale"
	"holdfast.dev/holdfast/bench/scalerun"
	"holdfast.dev/holdfast/bench/side"
)

// holdfast is the binary that TestMain builds.
var holdfast string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "bench-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		holdfast = filepath.Join(dir, "holdfast")
		build := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-s -w", "-o", holdfast, "./cmd/holdfast")
		build.Dir, build.Stdout, build.Stderr = "..", os.Stderr, os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "build holdfast:", err)
			return 1
		}
		return m.Run()
	}())
}

// The attack runs on the server alone, in a short form: every request of the other clients succeeds, and the server refuses the
// slow bodies that are more than one user may have arriving and waiting.
func TestAttack(t *testing.T) {
	t.Parallel()
	result, err := attackOne(t.Context(), side.Holdfast(holdfast), attack.Settings{
		Bodies: 1200, Before: 300 * time.Millisecond, During: 2 * time.Second, Refusal: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range result.Victims {
		if len(v.Before.OK) == 0 || v.Before.Refused+v.Before.Failed+v.During.Refused+v.During.Failed > 0 {
			t.Errorf("%s: before %s; during the attack %s", v.Name, v.Before, v.During)
		}
	}
	refused := false
	for _, end := range result.Ends {
		refused = refused || end.Code == http.StatusTooManyRequests
		// On a busy machine, the attack may last longer than the server waits for a body.
		if end.Code != http.StatusTooManyRequests && end.Code != http.StatusRequestTimeout {
			t.Errorf("slow bodies ended %s, want all that ended to be refused", result.Ends)
		}
	}
	if !refused {
		t.Errorf("slow bodies ended %s, want some to be refused", result.Ends)
	}
}

// Two simulated nodes run pods on the server alone, and every phase is in the report.
func TestCluster(t *testing.T) {
	t.Parallel()
	settings := cluster.Settings{Holdfast: holdfast, Simulated: 2, Pods: 5, PodsPerDeployment: 3}
	used, err := loadOne(t.Context(), side.Holdfast(holdfast), t.TempDir(), settings)
	if err != nil {
		t.Fatal(err)
	}
	report := cluster.LoadReport([]string{"Holdfast"}, [][]cluster.Usage{used})
	for _, want := range []string{"| 2 nodes become ready | Holdfast | ", "| 5 pods run | ", "| nothing changes for 0s | ", "| 5 pods are deleted | "} {
		if !strings.Contains(report, want) {
			t.Errorf("the report has no %q:\n%s", want, report)
		}
	}
}

// The oracle of the model of the cluster finds deletions that were wrong.
func TestOracle(t *testing.T) {
	t.Parallel()
	server, err := side.Holdfast(holdfast).Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	if err := cluster.TryOracle(t.Context(), server, cluster.Settings{Holdfast: holdfast}); err != nil {
		t.Error(err)
	}
}

// A small cluster goes through all phases on the server alone, and every client gets what it asked for until the server is killed.
func TestScaleRun(t *testing.T) {
	t.Parallel()
	var lines []string
	options := scalerun.Options{
		Side: side.Holdfast(holdfast, "--profiling"), Dir: t.TempDir(), Progress: func(line string) { lines = append(lines, line) },
	}
	settings := scalerun.Short()
	measured, err := scalerun.Run(t.Context(), options, settings)
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(lines, "\n"))
	}
	if measured.Pods != settings.Pods || len(measured.Phases) != 7 {
		t.Errorf("%d pods in %d phases:\n%s", measured.Pods, len(measured.Phases), strings.Join(lines, "\n"))
	}
	for _, p := range measured.Phases[:5] {
		for _, r := range p.Requests {
			if r.Errors > 0 {
				t.Errorf("%s: %s %s: %d errors: %s", p.Name, r.Verb, r.Resource, r.Errors, r.Failure)
			}
		}
	}
	start, steady, lost := measured.Phase(scalerun.Start), measured.Phase(scalerun.Steady), measured.Phase(scalerun.Lose)
	if got := start.Total("create", "pods"); got != settings.Pods {
		t.Errorf("%d pods were created, want %d", got, settings.Pods)
	}
	// The reader that counts the pods gets each pod, its node and its status before the phase ends.
	if least := 3 * settings.Pods; start.Events < least || start.Lag.Count < least/2 {
		t.Errorf("%d events arrived, want %d; %d of them have a lag", start.Events, least, start.Lag.Count)
	}
	for _, want := range [][2]string{{"update", "leases"}, {"get", "pods"}, {"list", "all pods"}, {"list", "pods of a node"}, {"patch", "configmaps"}} {
		if steady.Total(want[0], want[1]) == 0 {
			t.Errorf("nothing changes: no %s of %s", want[0], want[1])
		}
	}
	if back := measured.Phase(scalerun.Restart); back.Watches != steady.Watches || !strings.Contains(back.Note, "watches back after") {
		t.Errorf("%d watches before the server was killed, %d after it (%s)", steady.Watches, back.Watches, back.Note)
	}
	if lost.Total("delete", "pods") < settings.Pods/settings.Nodes {
		t.Errorf("%d pods of lost nodes were deleted", lost.Total("delete", "pods"))
	}
	result := &scalerun.Result{CPUs: 2, Settings: settings, Sides: []*scalerun.Side{measured}}
	if report := result.Markdown(); !strings.Contains(report, "| the pods start | Holdfast | ") || strings.Contains(report, "NaN") {
		t.Errorf("the report:\n%s", report)
	}
}

// What a server allocates grows at least by the bodies of the requests that it gets.
func TestAllocated(t *testing.T) {
	t.Parallel()
	server, err := side.Holdfast(holdfast).Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	client, err := server.Client(side.Administrator())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	allocated := func() side.Allocation {
		t.Helper()
		got, err := server.Allocated(t.Context(), client)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	const requests, size = 20, 500_000
	before := allocated()
	body := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"large"},"data":{"a":%q}}`, strings.Repeat("x", size))
	for range requests {
		// A dry run is stored nowhere.
		if _, err := client.Do(t.Context(), side.Request{
			Method: http.MethodPost, Path: "/api/v1/namespaces/kube-system/configmaps?dryRun=All", Body: body,
		}); err != nil {
			t.Fatal(err)
		}
	}
	if grown := allocated().Minus(before); grown.Bytes < requests*size || grown.Objects < requests {
		t.Errorf("%d requests of %d bytes: allocated %+v", requests, size, grown)
	}
}

// Every row is measured once, on the server alone, and the report has a line for each.
func TestCompare(t *testing.T) {
	t.Parallel()
	saved := 0
	options := compare.Options{
		Sides: []side.Side{side.Holdfast(holdfast)}, Dir: t.TempDir(), Progress: func(string) {},
		Save: func(so *compare.Figures) error {
			if len(so.Lines) > 0 {
				saved++
			}
			return nil
		},
	}
	settings := compare.Short()
	settings.Kubectl = holdfast // the program has the commands of kubectl
	figures, err := compare.Run(t.Context(), options, settings)
	if err != nil {
		t.Fatal(err)
	}
	report := figures.Markdown(nil)
	for _, want := range []string{
		"\n## 1 client\n", "\n## 16 clients\n", "\n| merge patch | ", "\n| ConfigMap apply | ", "\n| list of 5 | ",
		"\n| create, 10 fields | ", "\n| change that goes to 20 watches | ", "\n| CPU time to create a definition, up to 10 definitions | ", "\n| at rest | ",
		"\n| memory after a list of 20 objects | ", "\n| Lease update | ", "\n| memory added by 10 pods | ",
		"\n| CPU time until a node is back after a restart | ", "\n| memory when all of 10 definitions are in use | ",
		"\n## Allocated memory\n", "\n| 1 client: create | ", "\n| 16 clients: ConfigMap apply | ", "\n| nodes and pods: Lease update | ",
		"\n| growth with the fields: update, 10 fields | ", "\n| ConfigMap merge patch | ", "\n| Secret create | ", "\n| Lease merge patch | ",
		"\n| Event update | ", "\n| built-in kinds of 16 clients: Event merge patch | ", "\n| a pod, of 20, live heap | ", "\n| a node, of 10 | ",
		"\n| change of a ConfigMap that goes to 20 watches with selectors | ", "\n| watches: change that goes to 20 watches | ",
		"\n| peak above the memory before, watch-list: 2 informers and 10 objects of 100 KB | ", "\n| added by 20 watches of as many ConfigMaps | ",
		"\n| CPU time of the server for kubectl get with an empty cache, 40 group versions | ", "\n| nodes and pods: CPU time until a pod runs | ",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("the report has no %q", strings.TrimSpace(want))
		}
	}
	if _, err := scale.ReadCosts(figures); err != nil {
		t.Errorf("bench scale needs rows that no run has: %v", err)
	}
	if saved < 30 {
		t.Errorf("the figures were saved %d times, want once for each row of requests", saved)
	}
}
