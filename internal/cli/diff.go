package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/cmd/apply"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/output"
	"holdfast.dev/holdfast/internal/cli/plan"
	"holdfast.dev/holdfast/internal/cli/plan/live"
	"holdfast.dev/holdfast/internal/definition/preview"
)

const planHelp = `

 With --plan, holdfast diff says for each object whether apply would leave it unchanged,
 create it, update it in place, or be refused because the object must be replaced, and why.
 For an object that must be replaced it says what deleting it and creating the new one
 loses: status, finalizers that run first, owner references, fields that only the server's
 object has, and children that the server deletes with their owner. The server decides, by
 dry runs; nothing is written. If you may not send dry runs, the plan is made from what you
 may read, and says so.

 If a rule refuses a change, the plan says whether its condition is true, and whether you
 have the right that lifts it. For an object that must be replaced it says whether the
 server would refuse to delete it.

 Exit status with --plan: 0 if nothing would change, 1 if something would change or the
 server would refuse an object, 2 if the command line is wrong or the command could not look:
 it cannot read a file, no server answers, or an object could not be judged. Without --plan
 the exit status is that of kubectl diff: 1 for a difference, more for an error.`

const planExample = `

  # What would apply do, and what must be replaced?
  holdfast diff --plan -f examples/web.yaml

  # The same for programs
  holdfast diff --plan -o json -f examples/web.yaml`

// planning is the flags of diff --plan.
type planning struct {
	factory cmdutil.Factory
	plan    bool
	output  string
}

// addPlan adds the flag --plan to the command diff of kubectl. Without the flag the command
// stays as it is.
func addPlan(diff *cobra.Command, factory cmdutil.Factory) {
	p := &planning{factory: factory}
	diff.Flags().BoolVar(&p.plan, "plan", false, "Show for each object whether it is created, updated in place, or must be replaced, and why.")
	diff.Flags().StringVarP(&p.output, "output", "o", "", "Output format of --plan: text or json.")
	diff.Long += planHelp
	diff.Example += planExample
	kubectl := diff.Run
	diff.RunE = func(cmd *cobra.Command, args []string) error {
		if !p.plan && p.output == "" {
			if err := colourDiff(cmd); err != nil {
				return err
			}
			kubectl(cmd, args)
			return nil
		}
		if err := p.run(cmd, args); err != nil {
			return command.Unable(explained(cmd, err))
		}
		return nil
	}
}

// externalDiff is the variable with the program that kubectl diff runs, and its arguments.
const externalDiff = "KUBECTL_EXTERNAL_DIFF"

// colourDiff lets the program of kubectl diff print colours, if the user has chosen no other program, and this one can.
func colourDiff(cmd *cobra.Command) error {
	if os.Getenv(externalDiff) != "" || !command.HasColours(cmd, cmd.OutOrStdout()) {
		return nil
	}
	const always = "--color=always"
	if can := exec.CommandContext(cmd.Context(), "diff", always, os.DevNull, os.DevNull).Run() == nil; can {
		return os.Setenv(externalDiff, "diff -u -N "+always)
	}
	return nil
}

func (p *planning) run(cmd *cobra.Command, args []string) error {
	options, err := p.options(cmd, args)
	if err != nil {
		return err
	}
	planner := &live.Planner{Options: options, Factory: p.factory}
	plans, err := planner.Plan(cmd.Context())
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if p.output == output.JSON {
		if err := plan.PrintJSON(out, plans); err != nil {
			return err
		}
	} else {
		var text strings.Builder
		plan.Print(&text, plans)
		fmt.Fprintf(out, "%splan: %s\n", command.Plan(cmd, out, text.String()), plan.Summary(plans))
		if !options.ServerSide && len(planner.Replacements()) > 0 {
			if how, err := howToReplace(p.factory); err == nil {
				fmt.Fprintf(out, "%s: holdfast apply --replace, with the same files\n", how)
			}
		}
	}
	has := func(outcomes ...preview.Outcome) bool {
		return slices.ContainsFunc(plans, func(one plan.Plan) bool { return slices.Contains(outcomes, one.Outcome) })
	}
	switch {
	case has(plan.Unknown):
		return command.Unable(errors.New("not every object could be judged, and the plan says why: if the server does not answer, start it or name " +
			"another one with --kubeconfig"))
	case has(preview.Create, preview.InPlace, preview.Replace, preview.Invalid):
		return command.Exit(command.ExitRefused)
	}
	return nil
}

// options returns the flags of kubectl diff that --plan uses.
func (p *planning) options(cmd *cobra.Command, args []string) (live.Options, error) {
	var options live.Options
	flags := cmd.Flags()
	switch {
	case len(args) > 0:
		return options, fmt.Errorf("unexpected arguments: %s", strings.Join(args, " "))
	case !p.plan:
		return options, errors.New("-o is for --plan")
	case p.output != "" && p.output != "text" && p.output != output.JSON:
		return options, fmt.Errorf("output %q: must be text or %s", p.output, output.JSON)
	case cmdutil.GetFlagBool(cmd, "prune"):
		return options, errors.New("--plan cannot plan what --prune would delete")
	}
	options.ServerSide = cmdutil.GetServerSideApplyFlag(cmd)
	options.ForceConflicts = cmdutil.GetForceConflictsFlag(cmd)
	options.FieldManager = apply.GetApplyFieldManagerFlag(cmd, options.ServerSide)
	options.Selector = cmdutil.GetFlagString(cmd, "selector")
	options.Files.Recursive = cmdutil.GetFlagBool(cmd, "recursive")
	options.Files.Kustomize = cmdutil.GetFlagString(cmd, "kustomize")
	var err error
	if options.Files.Filenames, err = flags.GetStringSlice("filename"); err != nil {
		return options, err
	}
	if options.ForceConflicts && !options.ServerSide {
		return options, errors.New("--force-conflicts only works with --server-side")
	}
	return options, options.Files.RequireFilenameOrKustomize()
}
