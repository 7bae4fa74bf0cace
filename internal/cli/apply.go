package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/kubectl/pkg/cmd/apply"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/plan"
	"holdfast.dev/holdfast/internal/cli/plan/live"
	"holdfast.dev/holdfast/internal/definition/preview"
	rules "holdfast.dev/holdfast/internal/replacement"
)

const replaceHelp = `

 With --replace, holdfast apply replaces the objects that the server refuses to update: an
 immutable field has another value. It first prints what is lost with each old object, as
 holdfast diff --plan does. With --yes it then replaces them, and applies the files. Without
 --yes it writes nothing.

 It asks admission, quotas, holdfast.dev/keep and rules about all replacements before the
 first one is written. An object that changes after the plan is not replaced. Data that
 would be lost with a PersistentVolumeClaim, a PersistentVolume, or a StatefulSet that
 deletes its claims takes --allow-data-loss KIND/NAME.

 The dependents of an old object are deleted with it. With --cascade=orphan they stay, and
 lose their owner reference. With --adopt too, they stay, and the new object becomes their
 owner. On a Holdfast server no dependent is deleted then, also if a controller refers to the
 old object again, and both take the right to update every dependent. Other servers do not
 have --adopt.

 A Holdfast server replaces each object in one write, so that no client sees it missing. On
 another server the command deletes and creates it, and prints how long it was absent. A
 journal in a Secret has both objects until the end. If the command is killed, run it again
 with the same files: it finishes what it began. If the server refuses the new object after
 the deletion, the command creates the old one again. --resume also finishes what another
 user or other files began, and without files lists all open journals. Look at the objects
 first: every user that may write Secrets in the namespace can write a journal.

 Exit status with --replace: 1 if the server refuses an object, or if objects must be
 replaced and --yes is missing; 2 if the command could not look.`

const replaceExample = `

  # What must be replaced, and what is lost?
  holdfast apply --replace -f app.yaml

  # Replace it
  holdfast apply --replace --yes -f app.yaml

  # Replace it, and let the new object take over the dependents of the old one
  holdfast apply --replace --cascade=orphan --adopt --yes -f app.yaml

  # Which replacements did not end, on a server that is not Holdfast?
  holdfast apply --replace --resume`

// replacing is the flags of apply --replace.
type replacing struct {
	factory             cmdutil.Factory
	replace, yes, adopt bool
	// resumes says that the command may finish what runs of other users have begun.
	resumes bool
	allowed []string
}

// addReplace adds the flag --replace to the command apply of kubectl. Without the flag the command stays as it is.
func addReplace(applying *cobra.Command, factory cmdutil.Factory) {
	r := &replacing{factory: factory}
	flags := applying.Flags()
	flags.BoolVar(&r.replace, "replace", false, "Replace the objects that the server refuses to update. Without --yes, print what is lost.")
	flags.BoolVarP(&r.yes, "yes", "y", false, "Carry out the replacements of --replace.")
	flags.StringArrayVar(&r.allowed, "allow-data-loss", nil, "With --replace, an object, as KIND/NAME, whose data may be lost. May be repeated.")
	flags.BoolVar(&r.adopt, "adopt", false, "With --replace and --cascade=orphan, make the new object the owner of the dependents of the old one.")
	flags.BoolVar(&r.resumes, "resume", false, "With --replace, finish replacements as their journals say, also of other users. Without files, list the open ones.")
	applying.Long += replaceHelp
	applying.Example += replaceExample
	kubectl := applying.Run
	applying.RunE = func(cmd *cobra.Command, args []string) error {
		if !r.replace {
			if r.yes || r.adopt || r.resumes || len(r.allowed) > 0 {
				return command.Unable(errors.New("--yes, --adopt, --resume and --allow-data-loss are for --replace"))
			}
			r.applyWithHint(cmd, args, kubectl)
			return nil
		}
		done, err := r.run(cmd, args)
		if err != nil || !done {
			return command.Unable(explained(cmd, err))
		}
		kubectl(cmd, args)
		return nil
	}
}

// run carries out the replacements. It reports whether the files can be applied now.
func (r *replacing) run(cmd *cobra.Command, args []string) (bool, error) {
	if r.resumes && !cmd.Flags().Changed("filename") && !cmd.Flags().Changed("kustomize") {
		return false, r.resumeAll(cmd)
	}
	options, err := r.options(cmd, args)
	if err != nil {
		return false, err
	}
	planner := &live.Planner{Options: options, Factory: r.factory}
	plans, err := planner.Plan(cmd.Context())
	if err != nil {
		return false, err
	}
	out := cmd.OutOrStdout()
	other, err := r.elsewhere(out, options)
	if err == nil && other != nil {
		plans, err = other.resumed(cmd.Context(), planner, plans)
	}
	if err != nil {
		return false, err
	}
	var text strings.Builder
	plan.Print(&text, notable(plans))
	fmt.Fprint(out, command.Plan(cmd, out, text.String()))
	if refused := with(plans, preview.Invalid, plan.Unknown); len(refused) > 0 {
		return false, command.Refused(fmt.Errorf("%d of %d objects cannot be applied: nothing was written", len(refused), len(plans)))
	}
	replacements := planner.Replacements()
	if len(replacements) == 0 {
		return true, nil
	}
	carry := live.Carry{FieldManager: options.FieldManager, AllowDataLoss: r.allowed, Dependents: options.Dependents}
	check := func() error { return r.check(cmd.Context(), replacements, carry) }
	if other != nil {
		check = func() error { return other.check(cmd.Context(), replacements) }
	}
	if err := check(); err != nil {
		return false, command.Refused(fmt.Errorf("%w: nothing was written", err))
	}
	if !r.yes {
		return false, command.Refused(fmt.Errorf("%d of %d objects must be replaced: --yes replaces them; nothing was written",
			len(replacements), len(plans)))
	}
	if other != nil {
		return true, other.carryOut(cmd.Context(), replacements)
	}
	return true, carryOut(cmd.Context(), out, replacements, carry)
}

// check asks the server about all replacements, without writing.
func (r *replacing) check(ctx context.Context, replacements []live.Replacement, carry live.Carry) error {
	carry.DryRun = true
	var refused []error
	for _, replacement := range replacements {
		if _, err := replacement.Run(ctx, carry); err != nil {
			refused = append(refused, err)
		}
	}
	return errors.Join(refused...)
}

// carryOut carries out replacements until one fails.
func carryOut(ctx context.Context, out io.Writer, replacements []live.Replacement, carry live.Carry) error {
	for i, replacement := range replacements {
		uid, err := replacement.Run(ctx, carry)
		if err != nil {
			return command.Refused(fmt.Errorf("%w (%d of %d replacements were made before)", err, i, len(replacements)))
		}
		fmt.Fprintf(out, "%s replaced: the UID %s is now %s\n", replacement.Object, replacement.UID, uid)
		if carry.Dependents != rules.Collect {
			awaitDependents(ctx, out, replacement, carry.Dependents)
		}
	}
	return nil
}

// awaitDependents waits until the dependents that were planned to stay have their new owner references, and prints them.
func awaitDependents(ctx context.Context, out io.Writer, replacement live.Replacement, as rules.Dependents) {
	done, pending := replacement.Await(ctx)
	verb := "orphaned"
	if as == rules.Adopt {
		verb = "adopted"
	}
	if len(done) > 0 {
		fmt.Fprintf(out, "%s: %s %s\n", replacement.Object, verb, plan.ChildrenText(done))
	}
	if len(pending) > 0 {
		fmt.Fprintf(out, "%s: not yet %s %s. The server goes on, and deletes none of them; their Events say what is in the way\n",
			replacement.Object, verb, plan.ChildrenText(pending))
	}
}

// notable returns the plans of objects that are replaced or refused.
func notable(plans []plan.Plan) []plan.Plan {
	return with(plans, preview.Replace, preview.Invalid, plan.Unknown)
}

func with(plans []plan.Plan, outcomes ...preview.Outcome) []plan.Plan {
	return slices.DeleteFunc(slices.Clone(plans), func(one plan.Plan) bool { return !slices.Contains(outcomes, one.Outcome) })
}

// isHoldfast reports whether the server is Holdfast.
func isHoldfast(factory cmdutil.Factory) (bool, error) {
	client, err := factory.ToDiscoveryClient()
	if err != nil {
		return false, err
	}
	version, err := client.ServerVersion()
	if err != nil {
		return false, err
	}
	return strings.Contains(version.GitVersion, program), nil
}

// options returns the flags of kubectl apply that --replace uses.
func (r *replacing) options(cmd *cobra.Command, args []string) (live.Options, error) {
	var options live.Options
	for _, allowed := range r.allowed {
		if kind, name, ok := strings.Cut(allowed, "/"); !ok || kind == "" || name == "" {
			return options, fmt.Errorf("--allow-data-loss %q: must be KIND/NAME", allowed)
		}
	}
	files, err := cmd.Flags().GetStringSlice("filename")
	if err != nil {
		return options, err
	}
	switch {
	case len(args) > 0:
		return options, fmt.Errorf("unexpected arguments: %s", strings.Join(args, " "))
	case cmdutil.GetServerSideApplyFlag(cmd):
		return options, errors.New("--replace works with client-side apply: leave out --server-side")
	case cmdutil.GetFlagBool(cmd, "prune"), cmdutil.GetFlagBool(cmd, "force"):
		return options, errors.New("--replace does not work with --prune or --force")
	case cmdutil.GetFlagString(cmd, "dry-run") != "none":
		return options, errors.New("--replace without --yes writes nothing: leave out --dry-run")
	case slices.Contains(files, "-"):
		return options, errors.New("--replace reads the files twice, so it cannot read them from standard input")
	}
	if options.Dependents, err = r.dependents(cmdutil.GetFlagString(cmd, "cascade")); err != nil {
		return options, err
	}
	options.FieldManager = apply.GetApplyFieldManagerFlag(cmd, false)
	options.Selector = cmdutil.GetFlagString(cmd, "selector")
	options.Files = resource.FilenameOptions{
		Filenames: files, Kustomize: cmdutil.GetFlagString(cmd, "kustomize"), Recursive: cmdutil.GetFlagBool(cmd, "recursive"),
	}
	return options, options.Files.RequireFilenameOrKustomize()
}

// dependents returns what --cascade and --adopt say about the dependents of objects that are replaced.
func (r *replacing) dependents(cascade string) (rules.Dependents, error) {
	switch {
	case cascade == "orphan" && r.adopt:
		return rules.Adopt, nil
	case cascade == "orphan":
		return rules.Orphan, nil
	case cascade == "foreground":
		return "", errors.New("--cascade=foreground: a replacement is one write and cannot wait until the dependents are deleted: use --cascade=background, " +
			"which deletes them after it, or --cascade=orphan")
	case cascade != "background":
		return "", fmt.Errorf("--cascade=%s: must be background or orphan", cascade)
	case r.adopt:
		return "", errors.New("--adopt needs --cascade=orphan: otherwise the dependents are deleted with the old object")
	}
	return rules.Collect, nil
}
