package faults_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// everyRun are failpoints of which the short form takes some. Each write of the writers soon reaches one of them.
var everyRun = []string{
	"etcd:write", "etcd:written", "etcd:writtenBeside", "serviceip:claim", "serviceip:claimed", "serviceip:allocated", "serviceip:stored",
	"quota:charge", "quota:charged", "authorship:seal", "deletion:record", "controller:apply", "controller:applied", "controller:store",
	"recording:plan", "recording:written", "storage:replace", "storage:replaced",
}

// A server waits, fails and dies at each failpoint in turn, while clients write objects of all kinds, replace objects, move them to another
// version, and delete namespaces. After each restart it has every acknowledged write, its versions have not gone back, and the objects
// are whole. In the end quotas, addresses, plans and watches agree with the objects. The short form takes some failpoints of our own code. The
// long form takes all, with those of etcd. HOLDFAST_FAULTS_POINTS is a regular expression that chooses among them.
func TestFailpoints(t *testing.T) {
	t.Parallel()
	s := newSeed(t)
	program := buildBreakable(t)
	site := newSite(t, s, program)
	points := choosePoints(t, s, program.points)
	for _, p := range points {
		site.exercise(p)
		t.Logf("%s: %+v", p.name, *site.hits[p.name])
		if t.Failed() {
			t.FailNow()
		}
	}
	if long() {
		site.exerciseStart(points)
	}
	site.finish()
	t.Logf("%d acknowledged writes, %d without confirmation\n%s", site.ledger.count.Load(), site.ledger.opened.Load(), report(points, site.hits))
}

// choosePoints returns the failpoints of a run.
func choosePoints(t *testing.T, s seed, all []point) []point {
	t.Helper()
	if !long() {
		names := slices.Clone(everyRun)
		s.random("points").Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		return slices.DeleteFunc(slices.Clone(all), func(p point) bool { return !slices.Contains(names[:3], p.name) })
	}
	chosen, err := regexp.Compile(os.Getenv("HOLDFAST_FAULTS_POINTS"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(slices.Clone(all), func(p point) bool { return !chosen.MatchString(p.name) })
}

// hits counts what a process has done at a failpoint.
type hits struct{ waited, failed, died int }

func (h hits) sum() int { return h.waited + h.failed + h.died }

// report returns a table of what was done at each failpoint, and names those that were not reached.
func report(points []point, done map[string]*hits) string {
	var text strings.Builder
	var missing []string
	sum := hits{}
	for _, p := range points {
		h := done[p.name]
		if h == nil || h.sum() == 0 {
			missing = append(missing, p.name)
			continue
		}
		_, _ = fmt.Fprintf(&text, "%-40s %4d: waited %d, failed %d, died %d\n", p.name, h.sum(), h.waited, h.failed, h.died)
		sum = hits{sum.waited + h.waited, sum.failed + h.failed, sum.died + h.died}
	}
	_, _ = fmt.Fprintf(&text, "%d of %d failpoints, %d hits: waited %d, failed %d, died %d\nnot reached: %s",
		len(points)-len(missing), len(points), sum.sum(), sum.waited, sum.failed, sum.died, strings.Join(missing, " "))
	return text.String()
}
