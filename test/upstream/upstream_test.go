package upstream_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/native"
)

// longRounds is the number of generated objects of each kind that meets every exception, also those of the long form.
const longRounds = 200

// count counts the writes of one kind and stage.
type count struct{ compared, equal, excepted int }

// comparison is one run over all kinds.
type comparison struct {
	t      *testing.T
	theirs *oracle
	ours   *ours
	models models
	// tree has the manifests of the repository, which are compared as they are. base has those that
	// the generator changes. They stay the same, so that the generated objects do.
	tree, base map[string][]manifest
	exceptions []*exception
	rounds     int
	counts     map[[2]string]*count
	order      [][2]string
	// found has one example of each difference that no exception allows, and how often it
	// occurs.
	found  map[difference]int
	sample map[difference]request
	// unknown counts the writes with fields that this version of Kubernetes does not know.
	unknown int
}

func TestUpstream(t *testing.T) {
	long := os.Getenv("HOLDFAST_ORACLE_ROUNDS")
	if long == "" {
		t.Skip("set HOLDFAST_ORACLE_ROUNDS to build the code of Kubernetes and compare with it, or run make compare WHAT=oracle")
	}
	rounds, err := strconv.Atoi(long)
	if err != nil {
		t.Fatalf("HOLDFAST_ORACLE_ROUNDS: %v", err)
	}
	c := newComparison(t, publishedModels(), readExceptions(t, "testdata/exceptions.yaml"))
	c.theirs, c.ours, c.rounds = startOracle(t), newOurs(t), rounds
	c.tree, c.base = readCorpus(t, folders...), readCorpus(t, "test/upstream/testdata/manifests")
	isWhole := true
	for _, kind := range native.Kinds() {
		if !isChosen(kind.Name()) {
			isWhole = false
			continue
		}
		for _, version := range append([]schema.GroupVersion{kind.GroupVersion}, kind.OtherVersions...) {
			c.compareKind(kind, version)
		}
	}
	c.report()
	reportUnmet(t, slices.DeleteFunc(c.exceptions, func(e *exception) bool {
		isCompared := e.Kind != "" && slices.ContainsFunc(c.order, func(key [2]string) bool { return matches(e.Kind, key[0]) })
		return !isWhole && !isCompared
	}), rounds >= longRounds)
}

// isChosen reports whether the test compares a kind.
func isChosen(kind string) bool { return matches(os.Getenv("HOLDFAST_ORACLE_KINDS"), kind) }

func newComparison(t *testing.T, models models, exceptions []*exception) *comparison {
	return &comparison{
		t: t, models: models, exceptions: exceptions,
		counts: map[[2]string]*count{}, found: map[difference]int{}, sample: map[difference]request{},
	}
}

// reportUnmet fails for each exception that no write met. A short run need not meet those of the long form.
func reportUnmet(t *testing.T, exceptions []*exception, isLong bool) {
	t.Helper()
	for _, e := range exceptions {
		if e.met == 0 && !e.Timed && (isLong || !e.Long) {
			t.Errorf("no write met the exception %+v; remove the entry", *e)
		}
	}
}

// judge counts a write of a kind and its differences.
func (c *comparison) judge(name string, q request, differences []difference) {
	key := [2]string{name, q.Stage}
	n := c.counts[key]
	if n == nil {
		n = &count{}
		c.counts[key] = n
		c.order = append(c.order, key)
	}
	n.compared++
	if len(differences) == 0 {
		n.equal++
		return
	}
	isAllowed := true
	for _, d := range differences {
		d.Kind, d.Stage = name, q.Stage
		i := slices.IndexFunc(c.exceptions, func(e *exception) bool { return e.matches(d) })
		if i >= 0 {
			c.exceptions[i].met++
			continue
		}
		isAllowed = false
		c.found[d]++
		if _, ok := c.sample[d]; !ok {
			c.sample[d] = q
		}
	}
	if isAllowed {
		n.excepted++
	}
}

// report prints the counts, and fails for each difference that no exception allows.
func (c *comparison) report() {
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "kind\tstage\tcompared\tequal\texcepted")
	var sum count
	for _, key := range c.order {
		n := c.counts[key]
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\n", key[0], key[1], n.compared, n.equal, n.excepted)
		sum.compared, sum.equal, sum.excepted = sum.compared+n.compared, sum.equal+n.equal, sum.excepted+n.excepted
	}
	fmt.Fprintf(w, "all\t\t%d\t%d\t%d\n", sum.compared, sum.equal, sum.excepted)
	_ = w.Flush()
	c.t.Logf("%d writes have fields that the oracle does not know\n%s", c.unknown, table.String())

	var out *json.Encoder
	if path := os.Getenv("HOLDFAST_ORACLE_REPORT"); path != "" {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			c.t.Fatal(err)
		}
		defer file.Close()
		out = json.NewEncoder(file)
	}
	for d, n := range c.found {
		if out != nil {
			_ = out.Encode(struct {
				difference
				Count  int     `json:"count"`
				Sample request `json:"sample"`
			}{d, n, c.sample[d]})
			continue
		}
		c.t.Errorf("%s %s: %s of %s: ours %q, theirs %q (%d times)", d.Kind, d.Stage, d.Aspect, d.Path, d.Ours, d.Theirs, n)
	}
	if out != nil && len(c.found) > 0 {
		c.t.Errorf("%d differences, written to the report", len(c.found))
	}
}
