package kudo

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/util/completion"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/cli/command"
)

// completionTimeout bounds how long a user waits for a server after the Tab key.
const completionTimeout = 3 * time.Second

// addCompletions makes the shell complete the arguments and flags of a command and of those below
// it: instances, plans and parameters come from the server.
func addCompletions(cmd *cobra.Command) {
	switch {
	case strings.Contains(cmd.Use, "INSTANCE"):
		cmd.ValidArgsFunction = completeArguments
	case cmd.Use == "remove NAME" || cmd.Use == "context NAME":
		cmd.ValidArgsFunction = completeRepository
	}
	flags := map[string]cobra.CompletionFunc{
		"context": completion.ContextCompletionFunc, "output": fixed("json", "yaml"), "strategy": fixed("serial", "parallel"),
		"type": fixed("string", "integer", "number", "boolean", "array", "map"),
		"kind": fixed("Apply", "Delete", "Toggle", "Pipe", "KudoOperator", "Dummy"),
		"repo": completeRepositoryOrFile,
	}
	// The name of an installation is new, and the parameter of a task is no parameter of an
	// instance.
	if cmd.Name() != "install" {
		flags["instance"] = completeInstance
	}
	if cmd.Name() == "update" {
		flags["parameter"], flags["take-over"] = completeParameter, completeParameterName
	}
	for name, complete := range flags {
		if cmd.Flags().Lookup(name) != nil {
			// This cannot fail: the flag exists and has no function yet.
			_ = cmd.RegisterFlagCompletionFunc(name, complete)
		}
	}
	for _, below := range cmd.Commands() {
		addCompletions(below)
	}
}

func fixed(values ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

// completeRepository completes the name of a repository in the list of the user.
func completeRepository(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var from source
	from.list, _ = cmd.Flags().GetString("repositories")
	_, list, err := from.repositories()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, known := range list.Repositories {
		if strings.HasPrefix(known.Name, prefix) {
			names = append(names, known.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeRepositoryOrFile completes the flag --repo, whose value may also be a folder or a file.
func completeRepositoryOrFile(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	names, _ := completeRepository(cmd, nil, prefix)
	return names, cobra.ShellCompDirectiveDefault
}

// asking is one completion that a server answers.
type asking struct {
	*server
	ctx context.Context
}

// ask calls choose with a connection to the server that the flags of a command name, and
// returns those of its results that begin with a prefix. Without an answer there is nothing to
// complete: an error message would destroy the command line of the user.
func ask(cmd *cobra.Command, prefix string, choose func(asking) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	value := func(flag string) string {
		text, _ := cmd.Flags().GetString(flag)
		return text
	}
	conn := connection{command.Server{Kubeconfig: value("kubeconfig"), Context: value("context"), Namespace: value("namespace")}}
	s, err := conn.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), completionTimeout)
	defer cancel()
	found, err := choose(asking{s, ctx})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	found = slices.DeleteFunc(found, func(text string) bool { return !strings.HasPrefix(text, prefix) })
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeArguments completes the name of an instance, and after it the name of one of its plans.
func completeArguments(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	switch {
	case len(args) == 0:
		return completeInstance(cmd, args, prefix)
	case len(args) == 1 && cmd.Name() == "trigger":
		return ask(cmd, prefix, func(a asking) ([]string, error) {
			version, err := a.versionOf(args[0])
			return slices.Sorted(maps.Keys(version.Spec.Plans)), err
		})
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// completeInstance completes the name of an instance.
func completeInstance(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return ask(cmd, prefix, func(a asking) ([]string, error) {
		var list api.InstanceList
		err := a.list(a.ctx, instances, &list)
		var names []string
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return names, err
	})
}

// versionOf returns the OperatorVersion of an instance. It is empty if there is none.
func (a asking) versionOf(instance string) (*api.OperatorVersion, error) {
	found, err := a.instance(a.ctx, instance)
	if err != nil {
		return &api.OperatorVersion{}, err
	}
	version, err := a.version(a.ctx, found.VersionKey())
	if version == nil {
		version = &api.OperatorVersion{}
	}
	return version, err
}

// completeParameterName completes the name of a parameter of the instance that a command is
// about.
func completeParameterName(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return ask(cmd, prefix, func(a asking) ([]string, error) { return parameterTexts(a, cmd, args, "") })
}

// completeParameter completes NAME=VALUE: the name of a parameter, and then its value if the
// parameter has a fixed set of them.
func completeParameter(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	found, directive := ask(cmd, prefix, func(a asking) ([]string, error) { return parameterTexts(a, cmd, args, "=") })
	return found, directive | cobra.ShellCompDirectiveNoSpace
}

// parameterTexts returns the names of the parameters of an instance, with a suffix. If the
// suffix is not empty, the values of enums and booleans follow.
func parameterTexts(a asking, cmd *cobra.Command, args []string, suffix string) ([]string, error) {
	name, _ := cmd.Flags().GetString("instance")
	if name == "" && len(args) > 0 {
		name = args[0]
	}
	version, err := a.versionOf(name)
	var texts []string
	for _, p := range version.Spec.Parameters {
		values := p.Enum
		if p.ValueType() == "boolean" {
			values = []string{"true", "false"}
		}
		if suffix == "" || len(values) == 0 {
			values = []string{""}
		}
		for _, value := range values {
			texts = append(texts, p.Name+suffix+value)
		}
	}
	return texts, err
}
