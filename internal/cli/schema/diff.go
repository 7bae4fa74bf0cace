package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/change"
	"holdfast.dev/holdfast/internal/definition/source"
	"holdfast.dev/holdfast/internal/finding"
)

const diffHelp = `Find the changes between two versions of CustomResourceDefinitions that break clients
or stored objects.

An error is a breaking change: the server refuses what it accepted, clients do not find
what they read, or stored objects lose data. A warning is a change with another effect
than before. A note is a change after which everything that worked still works. Each has
a reason. The exit code is 1 if there is a breaking change.

The two sides are files, directories or patterns, or two revisions of a git repository:
REV..REV -- PATH compares two commits, and REV -- PATH a commit with the working tree.

Patches and templates are skipped as lint does it. The last line has their number, and -v
names them.

With --objects, each change says how many real objects it hits: those in files or a
directory or, with --objects cluster, those of the server that the kubeconfig names.`

const diffExamples = `  # Two files
  sed 's/replicas: {type: integer/replicas: {type: string/' examples/widgets.yaml > widgets-new.yaml
  holdfast schema diff examples/widgets.yaml widgets-new.yaml

  # The last commit, and the working tree against it
  holdfast schema diff HEAD~1..HEAD -- examples
  holdfast schema diff HEAD -- examples

  # How many objects of a directory are hit
  holdfast schema diff --objects examples examples/widgets.yaml widgets-new.yaml`

// diffing is one run of the command diff.
type diffing struct {
	reporting
	cluster
	objects []string
}

func newDiffCommand(version string) *cobra.Command {
	d := &diffing{reporting: reporting{rules: change.Rules, version: version}}
	cmd := &cobra.Command{
		Use:     "diff (OLD NEW | REV[..REV] -- PATH...)",
		Short:   "Find changes of definitions that break clients or stored objects",
		Long:    diffHelp,
		Example: diffExamples,
		RunE:    d.run,
	}
	d.reporting.addFlags(cmd)
	d.AddFlags(cmd.Flags())
	cmd.Flags().StringSliceVar(&d.objects, "objects", nil, "files or directories with objects, or cluster")
	command.TakeFiles(cmd)
	return cmd
}

func (d *diffing) run(cmd *cobra.Command, args []string) error {
	if err := d.validate(); err != nil {
		return err
	}
	if err := onlyStdin(args); err != nil {
		return err
	}
	old, updated, skipped, err := readSides(cmd, args)
	if err != nil {
		return err
	}
	report := &finding.Report{Noun: "definition", Skipped: skipped}
	files := map[string]bool{}
	names := maps.Clone(old)
	maps.Copy(names, updated)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		found, err := d.compare(cmd, old[name], updated[name])
		if err != nil {
			return err
		}
		report.Findings = append(report.Findings, d.shown(found)...)
		files[names[name].Object.File] = true
	}
	report.Objects, report.Files = len(names), len(files)
	return d.finish(cmd, report)
}

// compare returns the changes of one definition. One of the sides may be nil.
func (d *diffing) compare(cmd *cobra.Command, old, updated *source.Definition) ([]finding.Finding, error) {
	var changes []change.Change
	at := updated
	switch {
	case old == nil:
		changes = []change.Change{change.Added(updated.CustomResourceDefinition)}
	case updated == nil:
		at = old
		changes = []change.Change{change.Removed(old.CustomResourceDefinition)}
	default:
		changes = change.Compare(cmd.Context(), old.CustomResourceDefinition, updated.CustomResourceDefinition)
	}
	counts, err := d.count(cmd, changes, old, updated)
	if err != nil {
		return nil, err
	}
	var found []finding.Finding
	for i, c := range changes {
		f := finding.Finding{
			Rule: c.Rule, Severity: c.Severity, File: at.Object.File, Position: at.Object.Locate(c.Path),
			Object: at.Name, Path: c.Path, Message: c.Message, Reason: c.Reason,
		}
		if counts != nil {
			f.Message += counts.text(i)
		}
		found = append(found, f)
	}
	return found, nil
}

// counts are the numbers of objects that changes hit.
type counts struct {
	hits  []int
	total int
}

func (c *counts) text(change int) string {
	if c.hits[change] == 0 {
		return ""
	}
	return fmt.Sprintf(" (hits %d of %s)", c.hits[change], finding.Quantity(c.total, "object"))
}

// count counts the objects that each change hits, nil without --objects or without an old
// definition.
func (d *diffing) count(cmd *cobra.Command, changes []change.Change, old, updated *source.Definition) (*counts, error) {
	if len(d.objects) == 0 || old == nil {
		return nil, nil
	}
	objects, err := d.readObjects(cmd, old)
	if err != nil {
		return nil, err
	}
	var next *definition.CustomResourceDefinition
	if updated != nil {
		next = updated.CustomResourceDefinition
	}
	kind, err := change.Compile(old.CustomResourceDefinition, next)
	if err != nil {
		return nil, err
	}
	if !d.ofCluster() {
		for i := range objects {
			objects[i] = kind.Stored(objects[i])
		}
	}
	return &counts{kind.Hits(cmd.Context(), changes, objects), len(objects)}, nil
}

// ofCluster says whether the objects are those of the cluster, and not manifests.
func (d *diffing) ofCluster() bool { return len(d.objects) == 1 && d.objects[0] == ofCluster }

// readObjects returns the objects of a kind.
func (d *diffing) readObjects(cmd *cobra.Command, def *source.Definition) ([]map[string]any, error) {
	if d.ofCluster() {
		return d.readCluster(cmd.Context(), def.CustomResourceDefinition)
	}
	all, err := readDecoded(cmd, d.objects)
	if err != nil {
		return nil, err
	}
	var objects []map[string]any
	for _, o := range all {
		if o.Kind == def.Spec.Names.Kind && group(o.APIVersion) == def.Spec.Group {
			objects = append(objects, o.value)
		}
	}
	return objects, nil
}

// side is the definitions of one side, by name.
type side map[string]*source.Definition

// readSides reads the definitions of both sides. It also returns what it skipped in them.
func readSides(cmd *cobra.Command, args []string) (old, updated side, skipped []finding.Skipped, err error) {
	var before, after definitions
	switch dash := cmd.ArgsLenAtDash(); {
	case dash >= 0 && (dash != 1 || len(args) < 2):
		return nil, nil, nil, errors.New("name one revision or range before -- and at least one path after it")
	case dash >= 0:
		before, after, err = readRevisions(cmd, args[0], args[1:])
	case len(args) != 2:
		return nil, nil, nil, errors.New("name OLD and NEW, or REV..REV -- PATH")
	default:
		if before, err = readDefinitions(cmd, args[:1]); err == nil {
			after, err = readDefinitions(cmd, args[1:])
		}
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if old, err = byName(before.all); err == nil {
		updated, err = byName(after.all)
	}
	return old, updated, slices.Concat(before.skipped, after.skipped), err
}

// byName returns definitions by their name. It is an error if two have the same.
func byName(definitions []*source.Definition) (side, error) {
	all := side{}
	for _, def := range definitions {
		if other := all[def.Name]; other != nil {
			return nil, fmt.Errorf("%s: %s is also in %s", at(def.Object, ""), def.Name, at(other.Object, ""))
		}
		all[def.Name] = def
	}
	return all, nil
}
