package guard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// tableNamespace is the namespace of the objects of the table, and the label of its definitions and policies.
const tableNamespace = "table"

// table is the comparison of every rule in every way on every cluster.
type table struct {
	*trial
	clusters []*cluster
	// rules are the rules of all rows, and of has those of each row.
	rules []*tableRules
	of    map[*tableRow]*tableRules
	// refused has the outcome of the command that compiles rules, for the clusters on which it makes no rules of them.
	refused map[*cluster]map[*tableRules]outcome
	// entries are the lines of the printed table, in order.
	entries []string
	counts  map[string]*tableCount
}

// tableCount is a line of the printed table.
type tableCount struct {
	cases, refused int
	// equal is the number of cases with the same answer on a cluster, and excepted that for each exception.
	equal    map[string]int
	excepted map[string]map[string]int
}

// nextName returns the name of a new object.
func (t *trial) nextName() string {
	t.names++
	return fmt.Sprintf("c%05d", t.names)
}

// compareTable makes every write of every row on all clusters. The first is our server.
func (t *trial) compareTable(ctx context.Context, clusters []*cluster) error {
	b := &table{
		trial: t, clusters: clusters, of: map[*tableRow]*tableRules{}, counts: map[string]*tableCount{},
		refused: map[*cluster]map[*tableRules]outcome{},
	}
	rows := tableRows()
	for i := range rows {
		b.add(&rows[i])
	}
	for _, c := range clusters {
		if err := b.prepare(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	var failed []error
	for i := range rows {
		if err := b.compare(ctx, &rows[i]); err != nil {
			failed = append(failed, err)
		}
	}
	b.print()
	return errors.Join(append(failed, b.remove(ctx, clusters[1]))...)
}

// add adds the rules of a row, and its line.
func (b *table) add(row *tableRow) {
	at := slices.IndexFunc(b.rules, func(r *tableRules) bool { return r.kind == row.kind && slices.Equal(r.rules, row.rules) })
	if at < 0 {
		at = len(b.rules)
		b.rules = append(b.rules, &tableRules{name: fmt.Sprintf("row%02d", at), kind: row.kind, rules: row.rules})
	}
	b.of[row] = b.rules[at]
	if b.counts[row.entry] == nil {
		b.entries = append(b.entries, row.entry)
		b.counts[row.entry] = &tableCount{equal: map[string]int{}, excepted: map[string]map[string]int{}}
	}
}

// prepare creates the namespace, the users and the rules on a cluster, in the form that it enforces.
func (b *table) prepare(ctx context.Context, c *cluster) error {
	commands := [][]string{
		{"create", "namespace", tableNamespace},
		{
			"create", "clusterrole", "table-writer", "--verb=get,create,update,patch,delete,deletecollection",
			"--resource=*.example.com,configmaps,pods,pods/eviction,ingresses,ingresses/status",
		},
		{"create", "clusterrole", "table-holder", "--verb=resize,retire", "--resource=*.example.com,configmaps,pods"},
		{"create", "clusterrolebinding", "table-writer", "--clusterrole=table-writer", "--user=writer", "--user=holder"},
		{"create", "clusterrolebinding", "table-holder", "--clusterrole=table-holder", "--user=holder"},
	}
	if c.name != holdfast { // no controller creates it
		commands = append(commands, []string{"create", "serviceaccount", "default", "-n", tableNamespace})
	}
	for _, args := range commands {
		if err := b.must(ctx, c, b.Kubectl, args...); err != nil {
			return err
		}
	}
	b.refused[c] = map[*tableRules]outcome{}
	manifests := ""
	for _, r := range b.rules {
		source := text(r.source())
		if c.name == policy || c.name == cel {
			file, err := b.write(r.name+".json", source)
			if err != nil {
				return err
			}
			o := b.command(ctx, c, b.Holdfast, "schema", "compile", "--to", c.name, file)
			if !o.accepted {
				b.refused[c][r] = o
				continue
			}
			// The notes of the command go to stderr.
			if source, err = b.output(ctx, b.Holdfast, "schema", "compile", "--to", c.name, file); err != nil {
				return err
			}
		} else if !r.isCustom() {
			if err := b.createPolicy(ctx, c, source); err != nil {
				return err
			}
			continue
		}
		manifests += "---\n" + source + "\n"
	}
	file, err := b.write(c.name+"-table.yaml", manifests)
	if err != nil {
		return err
	}
	if err := b.must(ctx, c, b.Kubectl, "apply", "-f", file); err != nil {
		return err
	}
	return b.must(ctx, c, b.Kubectl, "wait", "--for=condition=Established", "crd", "-l", tableNamespace+"=yes")
}

// remove removes the rules from the cluster with the guard.
func (b *table) remove(ctx context.Context, c *cluster) error {
	args := []string{"delete", "immutabilitypolicies"}
	for _, r := range b.rules {
		if !r.isCustom() {
			args = append(args, r.name)
		}
	}
	if err := b.must(ctx, c, b.Kubectl, args...); err != nil {
		return err
	}
	return b.must(ctx, c, b.Kubectl, "annotate", "crd", "-l", tableNamespace+"=yes", "holdfast.dev/immutability-")
}

// compare makes the writes of a row on all clusters, and returns the differences that no exception explains.
func (b *table) compare(ctx context.Context, row *tableRow) error {
	rule, count := b.of[row], b.counts[row.entry]
	cases := b.changes(row, rule)
	if len(row.fields) == 0 {
		cases = b.deletions(row, rule)
	}
	ours, err := runAll(ctx, b.clusters[0], cases)
	if err != nil {
		return err
	}
	var failed []error
	var refused *tableCase
	count.cases += len(cases)
	for i, c := range cases {
		failed = append(failed, c.check(holdfast, ours[i]))
		if c.isRefused(ours[i]) {
			count.refused++
			if refused == nil {
				refused = &cases[i]
			}
		}
	}
	if row.free != (refused == nil) {
		failed = append(failed, fmt.Errorf("%s: of %d cases, our server refuses %v", cases[0], len(cases), refused))
	}
	theirs := make([][]outcome, len(b.clusters))
	errs := make([]error, len(b.clusters))
	var done sync.WaitGroup
	for at, c := range b.clusters {
		if _, without := b.refused[c][rule]; at == 0 || without {
			continue
		}
		done.Go(func() {
			if refused != nil && !rule.awaited {
				errs[at] = refused.await(ctx, c)
			}
			if errs[at] == nil {
				theirs[at], errs[at] = runAll(ctx, c, cases)
			}
		})
	}
	done.Wait()
	rule.awaited = rule.awaited || refused != nil
	failed = append(failed, errs...)
	for at, c := range b.clusters {
		o, without := b.refused[c][rule]
		for i := range cases {
			switch {
			case without:
				failed = append(failed, b.account(count, cases[i], difference{
					cluster: c.name, write: "schema compile --to " + c.name + ": " + strings.Join(rule.rules, ", "), ours: outcome{accepted: true}, theirs: o,
				}))
			case theirs[at] != nil:
				failed = append(failed, b.account(count, cases[i], difference{c.name, cases[i].String(), ours[i], theirs[at][i]}))
			}
		}
	}
	if failed = slices.DeleteFunc(failed, func(err error) bool { return err == nil }); len(failed) > maxFailed {
		failed = append(failed[:maxFailed], fmt.Errorf("%s: %d more", row.rules, len(failed)-maxFailed))
	}
	return errors.Join(failed...)
}

// account counts a case on a cluster, and returns an error for a difference that no exception explains.
func (b *table) account(count *tableCount, c tableCase, d difference) error {
	reason, err := b.reason(d)
	switch {
	case err != nil:
		return err
	case reason == nil:
		count.equal[d.cluster]++
		return nil
	case count.excepted[d.cluster] == nil:
		count.excepted[d.cluster] = map[string]int{}
	}
	count.excepted[d.cluster][reason.name]++
	if reason.judged {
		return c.check(d.cluster, d.theirs)
	}
	return nil
}

// runAll makes the writes of cases on a cluster.
func runAll(ctx context.Context, on *cluster, cases []tableCase) ([]outcome, error) {
	out := make([]outcome, len(cases))
	var stored object
	for i, c := range cases {
		var err error
		if nameOf(stored) != nameOf(c.before) {
			stored, err = c.create(ctx, on)
		}
		if err == nil {
			out[i], err = c.run(ctx, on, stored)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
	}
	return out, nil
}

// isRefused reports whether the rules refuse the write.
func (c tableCase) isRefused(o outcome) bool {
	if c.deletes {
		return !o.accepted && strings.Contains(o.text, "keeps it")
	}
	return !o.accepted && strings.Contains(o.text, "field is immutable")
}

// check returns an error for a refusal for another reason than a rule, or with other words than those of the rules.
func (c tableCase) check(on string, o outcome) error {
	switch {
	case o.accepted, c.isRefused(o), strings.Contains(o.text, "in the precondition"):
		return nil
	}
	return fmt.Errorf("%s: %s: %s", on, c, o)
}

// await repeats a write that our server refuses, as a dry run, until a cluster refuses it.
func (c tableCase) await(ctx context.Context, on *cluster) error {
	c.before = changed(c.before, nil)
	set(c.before, []string{"metadata", "name"}, "probe-"+c.rule.name)
	stored, err := c.create(ctx, on)
	if err != nil {
		return err
	}
	r := c.request(c.before, stored).asDryRun()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		o, err := outcomeOf(r.send(ctx, on, c.rule, c.row.user()))
		switch {
		case err != nil:
			return err
		case c.isRefused(o):
			return nil
		case time.Now().After(end):
			return fmt.Errorf("%s: %s: still %s", on.name, c, o)
		}
	}
}

// print prints the table.
func (b *table) print() {
	var names []string
	letter := func(name string) string {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		return string(rune('a' + slices.Index(names, name)))
	}
	b.printf("| rule | cases | refused | guard | `--to policy` | `--to cel` |\n|---|---|---|---|---|---|")
	for _, entry := range b.entries {
		count := b.counts[entry]
		line := fmt.Sprintf("| `%s` | %d | %d |", entry, count.cases, count.refused)
		for _, c := range b.clusters[1:] {
			parts := []string{fmt.Sprint(count.equal[c.name])}
			for _, name := range slices.Sorted(maps.Keys(count.excepted[c.name])) {
				parts = append(parts, fmt.Sprintf("%d %s", count.excepted[c.name][name], letter(name)))
			}
			line += " " + strings.Join(parts, ", ") + " |"
		}
		b.printf("%s", line)
	}
	for i, name := range names {
		b.printf("%c: %s", 'a'+i, name)
	}
}
