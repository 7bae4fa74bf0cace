package series

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/cli/command"
)

// following has the flags of the commands that let references follow.
type following struct {
	connection
	command.Waiting
	in     []string
	dryRun command.DryRun
	output string
}

func (f *following) addFlags(cmd *cobra.Command) {
	f.AddNamespaceFlags(cmd.Flags())
	flags := cmd.Flags()
	flags.StringSliceVar(&f.in, "in", nil, "workloads whose references follow, as TYPE/NAME,TYPE/NAME")
	f.dryRun.AddFlag(flags)
	flags.StringVarP(&f.output, "output", "o", outputText, "json, yaml or name (default: text)")
	f.Waiting.AddFlags(flags, "the rollouts are complete, and show their progress")
}

func (f *following) check() error {
	if f.Wait && f.dryRun.IsSet() {
		return errors.New("--wait does not go with --dry-run: a dry run changes nothing")
	}
	return checkOutput(f.output, outputJSON, outputYAML, outputName)
}

// follower lets the references of workloads follow to one member.
type follower struct {
	*server
	*following
	members *members
	// to is the name of the member, and content the member as it was read, or as it has to be created. missing says that it has to be.
	to      string
	content *unstructured.Unstructured
	missing bool
	// restored says that the member was deleted while the command ran, and that the command created it again.
	restored bool
	// out and progress are for the result and for all else.
	out, progress io.Writer
	// cmd is the command that runs.
	cmd *cobra.Command
}

// planned is an edit that the server has tried.
type planned struct {
	*edit
	// result is the workload as the server would store it, or as the command expects it.
	result *unstructured.Unstructured
}

// run lets the references of workloads follow. It writes nothing before the server has tried to create the member, and every edit.
func (f *follower) run(ctx context.Context, workloads []*workload) error {
	var plans []planned
	report := report{
		Series: f.members.String(), Namespace: f.namespace, Member: memberName(f.members.kind, f.to),
		Workloads: []workloadReport{},
	}
	if f.dryRun.IsSet() {
		report.DryRun = string(f.dryRun)
	}
	for _, w := range workloads {
		p, err := f.plan(ctx, w)
		if err != nil {
			return err
		}
		if len(p.changes) > 0 {
			plans = append(plans, p)
			happens := p.report()
			happens.MissingKeys = p.missingKeys(keysOf(f.content))
			report.Workloads = append(report.Workloads, happens)
		}
	}
	if !f.dryRun.IsSet() && f.missing {
		if _, err := f.createMember(ctx, command.DryRunServer); err != nil && !apierrors.IsAlreadyExists(err) {
			return f.notCreated(err)
		}
	}
	if f.output == outputText {
		for _, w := range report.Workloads {
			w.print(f.out)
		}
		if err := f.printDifferences(ctx, plans); err != nil {
			return err
		}
	}
	if err := f.create(ctx); err != nil {
		return err
	}
	var err error
	for i := 0; i < len(plans) && err == nil; i++ {
		err = f.write(ctx, plans[i])
	}
	if err := errors.Join(err, f.restore(ctx)); err != nil {
		return err
	}
	report.Created = f.missing || f.restored
	if len(f.in) == 0 {
		report.remaining = f.others(ctx, workloads)
	}
	switch {
	case f.output == outputJSON || f.output == outputYAML:
		if err := printAs(f.out, f.output, report); err != nil {
			return err
		}
	case f.output == outputText && !report.Created && len(plans) == 0:
		fmt.Fprintf(f.out, "%s exists already, and the references point to it: nothing to do\n", report.Member)
	}
	switch f.output {
	case outputText:
		report.print(f.out)
	case outputName:
		report.print(f.progress)
	}
	if !f.Wait {
		return nil
	}
	for _, p := range plans {
		if err := f.waitFor(ctx, p.workload); err != nil {
			return err
		}
	}
	return nil
}

// plan computes an edit, and lets the server try it. If the workload has changed in between, it reads it again.
func (f *follower) plan(ctx context.Context, w *workload) (planned, error) {
	for attempt := 1; ; attempt++ {
		e, err := f.edit(ctx, w, f.members, f.to)
		if err != nil {
			return planned{}, err
		}
		if len(e.changes) == 0 {
			if len(f.in) > 0 && e.settled == 0 {
				return planned{}, refused("%s refers to no member of the series %s, nor to %s: write the name %s into its manifest first%s",
					w, f.members.identity, memberName(f.members.kind, f.members.name), f.to, f.members.hint())
			}
			return planned{e, w.live}, nil
		}
		if !f.dryRun.Sends() {
			return planned{e, e.changed}, nil
		}
		result, err := f.try(ctx, e)
		if err == nil {
			return planned{e, e.withoutReplaced(result)}, nil
		}
		if !isStale(err) || attempt == attempts {
			return planned{}, f.failed(w, err)
		}
		if w.live, err = w.client(f.server).Get(ctx, w.live.GetName(), metav1.GetOptions{}); err != nil {
			return planned{}, command.Unable(fmt.Errorf("read %s: %w", w, withRight(err)))
		}
	}
}

// failed returns the error of a write of a workload.
func (f *follower) failed(w *workload, err error) error {
	var coded command.Error
	if errors.As(err, &coded) {
		return err
	}
	return refused("%s: %w", w, withRight(err))
}

// create creates the member, if it does not exist.
func (f *follower) create(ctx context.Context) error {
	if !f.missing {
		return nil
	}
	if f.dryRun.Sends() {
		created, err := f.createMember(ctx, f.dryRun)
		if apierrors.IsAlreadyExists(err) {
			// Another roll with the same content has created it meanwhile.
			f.missing = false
			existing, err := f.existing(ctx, f.members.identity, f.content)
			if existing != nil {
				f.content = existing
			}
			return err
		}
		if err != nil {
			return f.notCreated(err)
		}
		f.content = created
	}
	f.say("%s created%s", memberName(f.members.kind, f.to), f.dryRun.Suffix())
	return nil
}

func (f *follower) createMember(ctx context.Context, dryRun command.DryRun) (*unstructured.Unstructured, error) {
	options := metav1.CreateOptions{FieldManager: f.members.manager(), DryRun: dryRun.Options()}
	return f.objects(f.members.kind).Create(ctx, f.content, options)
}

// notCreated returns the error of a create of the member.
func (f *follower) notCreated(err error) error {
	return refused("create %s: %w", memberName(f.members.kind, f.to), withRight(err))
}

// write writes an edit.
func (f *follower) write(ctx context.Context, p planned) error {
	if !f.dryRun.IsSet() {
		stored, err := f.send(ctx, p.edit, f.members, f.to)
		if err != nil {
			return fmt.Errorf("%w; run the command again for the workloads that do not follow yet", f.failed(p.workload, err))
		}
		p.live = stored
	}
	f.say("%s points to %s%s", p.String(), f.to, f.dryRun.Suffix())
	return nil
}

// say prints a line about an object that was written: a sentence, or with -o name only the name.
func (f *follower) say(format, name string, args ...any) {
	switch f.output {
	case outputName:
		fmt.Fprintln(f.out, name)
	case outputText:
		fmt.Fprintf(f.out, format+"\n", append([]any{name}, args...)...)
	}
}
