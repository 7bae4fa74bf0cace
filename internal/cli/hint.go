package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/plan"
	"holdfast.dev/holdfast/internal/cli/plan/live"
	"holdfast.dev/holdfast/internal/definition/preview"
	"holdfast.dev/holdfast/internal/finding"
)

// applyWithHint runs kubectl apply. If the server refuses to change an immutable field, the user learns which command replaces the object,
// and what is lost with it. kubectl prints an error and ends the process itself, so the hint follows there.
func (r *replacing) applyWithHint(cmd *cobra.Command, args []string, kubectl func(*cobra.Command, []string)) {
	cmdutil.BehaviorOnFatal(func(message string, code int) {
		if message != "" {
			fmt.Fprintln(cmd.ErrOrStderr(), strings.TrimSuffix(message, "\n"))
		}
		if isImmutability(message) {
			fmt.Fprint(cmd.ErrOrStderr(), r.hint(cmd, args))
		}
		os.Exit(code)
	})
	defer cmdutil.DefaultBehaviorOnFatal()
	kubectl(cmd, args)
}

// isImmutability reports whether a message of a server says that a field never changes. Kubernetes says so in two ways.
func isImmutability(message string) bool {
	return strings.Contains(message, "immutable") || strings.Contains(message, "updates to statefulset spec for fields other than")
}

// hint returns what is lost with the objects that must be replaced, and the command. It is empty if there are none, or if
// the flags do not allow to replace them: the error of kubectl says enough then.
func (r *replacing) hint(cmd *cobra.Command, args []string) string {
	options, err := r.options(cmd, args)
	if err != nil {
		return ""
	}
	how, err := howToReplace(r.factory)
	if err != nil {
		return ""
	}
	planner := &live.Planner{Options: options, Factory: r.factory}
	plans, err := planner.Plan(cmd.Context())
	if err != nil {
		return ""
	}
	can := map[string]bool{}
	for _, replacement := range planner.Replacements() {
		can[replacement.Namespace()+"/"+replacement.Object] = replacement.Never() == ""
	}
	plans = slices.DeleteFunc(plans, func(one plan.Plan) bool {
		isImmutable := func(reason finding.Finding) bool {
			return reason.Rule == plan.ImmutableRule || isImmutability(reason.Message)
		}
		return one.Outcome != preview.Replace || !can[one.Namespace+"/"+one.Object] || !slices.ContainsFunc(one.Reasons, isImmutable)
	})
	if len(plans) == 0 {
		return ""
	}
	var text strings.Builder
	plan.Print(&text, plans)
	return fmt.Sprintf("%s%s: %s apply --replace%s\n", command.Plan(cmd, cmd.ErrOrStderr(), text.String()), how, program, fileFlags(options))
}

// howToReplace says what apply --replace does on the server.
func howToReplace(factory cmdutil.Factory) (string, error) {
	ours, err := isHoldfast(factory)
	if !ours {
		return "to delete and create, with a journal for a crash", err
	}
	return "to replace in one write", nil
}

// fileFlags returns the flags that name the files and select objects in them.
func fileFlags(options live.Options) string {
	var flags strings.Builder
	add := func(flag, value string) {
		if value != "" {
			fmt.Fprintf(&flags, " %s %s", flag, value)
		}
	}
	for _, file := range options.Files.Filenames {
		add("-f", file)
	}
	add("-k", options.Files.Kustomize)
	add("-l", options.Selector)
	if options.Files.Recursive {
		flags.WriteString(" -R")
	}
	return flags.String()
}
