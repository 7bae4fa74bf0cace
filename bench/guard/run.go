package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// The names of the clusters.
const (
	holdfast = "holdfast"
	webhook  = "webhook"
	policy   = "policy"
	cel      = "cel"
)

// Settings are the settings of Run.
type Settings struct {
	// Holdfast and Kubectl are programs. Peer is a directory with kube-apiserver and etcd.
	Holdfast, Kubectl, Peer string
	// Examples is a directory with widgets.yaml and widget.yaml.
	Examples string
	// Seed is the seed of the random writes, Writes the number of those on all clusters, and Ruled the number of writes and deletions on
	// our server and on the cluster with the guard, with rules of all kinds.
	Seed          uint64
	Writes, Ruled int
	// Out is where the outcomes are printed.
	Out io.Writer
}

// trial is one run.
type trial struct {
	Settings
	dir    string
	random *rand.Rand
	known  []*exception
	// names is the number of objects of the table.
	names int
}

func newTrial(dir string, settings Settings) *trial {
	return &trial{Settings: settings, dir: dir, random: rand.New(rand.NewPCG(settings.Seed, 1)), known: exceptions()}
}

func (t *trial) printf(format string, args ...any) { _, _ = fmt.Fprintf(t.Out, format+"\n", args...) }

// Run compares the four clusters and breaks the guard. Files are below dir.
func Run(ctx context.Context, dir string, settings Settings) error {
	t := newTrial(dir, settings)
	t.printf("seed %d", t.Seed)
	var clusters []*cluster
	for _, name := range []string{holdfast, webhook, policy, cel} {
		from := side.Peer(t.Peer)
		if name == holdfast {
			from = side.Holdfast(t.Holdfast)
		}
		c, err := startCluster(dir, name, from)
		if err != nil {
			return err
		}
		defer c.stop()
		clusters = append(clusters, c)
	}
	guards, err := t.startGuards(ctx, clusters[1])
	if err != nil {
		return err
	}
	defer guards.stop()
	for _, c := range clusters {
		if err := t.prepare(ctx, c); err != nil {
			return err
		}
	}
	// A step may fail for other reasons than the one before, so all of them run.
	failed := errors.Join(
		t.compareCommands(ctx, clusters), t.compareWrites(ctx, clusters), t.compareVersions(ctx, clusters), t.compareAnnotations(ctx, clusters),
		t.compareTable(ctx, clusters), t.compareRules(ctx, clusters[0], clusters[1]), t.compareDefinitions(ctx, clusters[0], clusters[1]),
		t.unusedExceptions(), t.breakGuards(ctx, guards),
	)
	if failed != nil {
		return fmt.Errorf("%w\nseed %d, log of a guard:\n%s", failed, t.Seed, guards.log())
	}
	return nil
}

// prepare installs the definitions, with their rules in the form that the cluster enforces, and waits until it does.
func (t *trial) prepare(ctx context.Context, c *cluster) error {
	form := map[string][]string{
		holdfast: {"guard", "convert", "-f"}, webhook: {"guard", "convert", "-f"},
		policy: {"schema", "compile", "--to", "policy"}, cel: {"schema", "compile", "--to", "cel"},
	}[c.name]
	ships, err := t.write("ships.yaml", shipsDefinition)
	if err != nil {
		return err
	}
	for _, source := range []string{filepath.Join(t.Examples, "widgets.yaml"), ships} {
		text, err := t.output(ctx, t.Holdfast, append(form, source)...)
		if err != nil {
			return err
		}
		file, err := t.write(c.name+"-"+filepath.Base(source), text)
		if err != nil {
			return err
		}
		if err := t.must(ctx, c, t.Kubectl, "apply", "-f", file); err != nil {
			return err
		}
	}
	wait := []string{"wait", "--for=condition=Established", "crd/widgets.example.com", "crd/ships.example.com"}
	if err := t.must(ctx, c, t.Kubectl, wait...); err != nil {
		return err
	}
	first, err := t.write("probe.json", probe)
	if err != nil {
		return err
	}
	if err := t.must(ctx, c, t.Kubectl, "apply", "-f", filepath.Join(t.Examples, "widget.yaml"), "-f", first); err != nil {
		return err
	}
	for _, resource := range []string{"widget/anchor", "ship/probe"} {
		change := []string{"patch", resource, "--type=merge", "-p", `{"spec":{"size":"` + otherSize[resource] + `"}}`, "--dry-run=server"}
		if err := t.await(ctx, c, isRefusal, change...); err != nil {
			return err
		}
	}
	return nil
}

// probe is a ship that shows whether the rules are in force, and otherSize are sizes that the objects do not have.
const probe = `{"apiVersion":"example.com/v1","kind":"Ship","metadata":{"name":"probe","namespace":"default"},"spec":{"size":"small"}}`

var otherSize = map[string]string{"widget/anchor": "small", "ship/probe": "large"}

// isRefusal reports whether a cluster answered that a field is immutable.
func isRefusal(o outcome) bool {
	return !o.accepted && strings.Contains(o.text, "immutable") && !isUnavailable(o)
}

// isUnavailable reports whether a write failed because the guard did not answer.
func isUnavailable(o outcome) bool {
	return !o.accepted && strings.Contains(o.text, "failed calling webhook")
}

// await repeats a kubectl command until its outcome is as wanted, for at most a minute.
func (t *trial) await(ctx context.Context, c *cluster, wanted func(outcome) bool, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		last := t.command(ctx, c, t.Kubectl, args...)
		if wanted(last) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: kubectl %s: still %s", c.name, strings.Join(args, " "), last)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
