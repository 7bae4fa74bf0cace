package cli

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubectl/pkg/util/completion"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/output"
)

const completionHelp = `Print a script that makes a shell complete the commands of holdfast with the Tab key:
commands, flags and their values, and the objects, fields, nodes and instances of
the server that the kubeconfig names.

bash needs the package bash-completion.`

const completionExample = `  # bash, for this shell and for all new ones
  source <(holdfast completion bash)
  holdfast completion bash > ~/.local/share/bash-completion/completions/holdfast

  # zsh
  holdfast completion zsh > "${fpath[1]}/_holdfast"

  # fish
  holdfast completion fish > ~/.config/fish/completions/holdfast.fish`

// shells are the shells that can complete, with the function that prints the script of each.
func shells(cmd *cobra.Command) map[string]func() error {
	root, out := cmd.Root(), cmd.OutOrStdout()
	return map[string]func() error{
		"bash":       func() error { return root.GenBashCompletionV2(out, true) },
		"zsh":        func() error { return root.GenZshCompletion(out) },
		"fish":       func() error { return root.GenFishCompletion(out, true) },
		"powershell": func() error { return root.GenPowerShellCompletionWithDesc(out) },
	}
}

func newCompletionCommand() *cobra.Command {
	return &cobra.Command{
		Use:       "completion (bash | zsh | fish | powershell)",
		Short:     "Print a script for the completion of a shell",
		Long:      completionHelp,
		Example:   completionExample,
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("name one shell: bash, zsh, fish or powershell")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			script, known := shells(cmd)[args[0]]
			if !known {
				return fmt.Errorf("shell %q: must be bash, zsh, fish or powershell", args[0])
			}
			return script()
		},
	}
}

// enums are the values of flags, by the command and the flag.
var enums = map[string][]string{
	"serve --log-format":          {logText, logJSON},
	"serve --logging-format":      {logText, logJSON},
	"node --log-format":           {logText, logJSON},
	"serve --ownership":           {"enforce-edit", "warn", "off"},
	"serve --anonymous-auth":      {"health", "false", "true"},
	"serve --immutability-status": {"400", "422"},
	"serve --definition-policy":   {"warn", "refuse-loss", "refuse-breaking"},
	"serve --authorization-mode":  {"Node,RBAC", "RBAC"},
	"serve --tls-min-version":     {"VersionTLS12", "VersionTLS13"},
	"version --output":            {output.JSON, output.YAML},
	"doctor --output":             {output.JSON, output.YAML},
	"status --output":             {output.JSON, output.YAML},
	"revoke --output":             {output.JSON, output.YAML},
	"revoke --issued-before":      {"now"},
	"owners --output":             {output.JSON, output.YAML},
	"diff --output":               {"text", "json", "sarif", "github"},
	"lint --output":               {"text", "json", "sarif", "github"},
	"update --output":             {"text", "json", "sarif", "github"},
	"prune --output":              {"diff", "yaml", "text", "json", "sarif", "github"},
	"skeleton --output":           {output.YAML, output.JSON},
	"generate --output":           {output.YAML, output.JSON},
	"compile --output":            {output.YAML, output.JSON},
	"kubeconfig --output":         {output.YAML, output.JSON},
	"audit --output":              {"table", output.JSON, output.YAML, "sarif"},
	"init --output":               {output.YAML, output.JSON},
	"convert --to":                {"annotation", "markers"},
	"compile --to":                {"cel", "policy"},
	"lint --fail-on":              {"error", "warning", "note", "never"},
	"diff --fail-on":              {"error", "warning", "note", "never"},
	"transfer --to":               {"apply", "imperative"},
	"transfer --preset":           {"csa-to-ssa", "argocd", "flux", "helm", "kapp"},
	"roll --output":               {output.JSON, output.YAML, "name"},
	"rollback --output":           {output.JSON, output.YAML, "name"},
	"history --output":            {output.JSON, output.YAML},
	"used --output":               {output.JSON, output.YAML},
	"unused --output":             {output.JSON, output.YAML},
}

// addCompletions makes the shell complete the values of the flags of commands, and of those below
// them.
func addCompletions(commands ...*cobra.Command) {
	for _, cmd := range commands {
		for key, values := range enums {
			if name, flag, _ := strings.Cut(key, " --"); name == cmd.Name() {
				completeFlag(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
			}
		}
		if cmd.Name() != "serve" {
			completeFlag(cmd, "node", nodeNames)
		}
		completeFlag(cmd, "context", completion.ContextCompletionFunc)
		completeFlag(cmd, "dry-run", cobra.FixedCompletions(command.DryRuns(), cobra.ShellCompDirectiveNoFileComp))
		if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 && !fileArgument.MatchString(cmd.Use) {
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
		addCompletions(cmd.Commands()...)
	}
}

// fileArgument matches the usage of a command whose arguments may be files. The shell completes
// files where a command completes nothing itself.
var fileArgument = regexp.MustCompile(` .*\b(FILE|FOLDER|PACKAGE|PACKAGES|LOCATION|OLD)\b`)

// completeFlag completes a flag, if the command has it and does not complete it already.
func completeFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if _, done := cmd.GetFlagCompletionFunc(flag); cmd.Flags().Lookup(flag) == nil || done {
		return
	}
	// This cannot fail: the flag exists and has no function yet.
	_ = cmd.RegisterFlagCompletionFunc(flag, complete)
}

// completionTimeout bounds how long a user waits for a server after the Tab key.
const completionTimeout = 3 * time.Second

// nodeNames completes the name of a node of the server. Without an answer there is nothing to
// complete.
func nodeNames(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	var server command.Server
	server.Kubeconfig, _ = cmd.Flags().GetString("kubeconfig")
	server.Context, _ = cmd.Flags().GetString("context")
	_, client, err := connect(&server)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), completionTimeout)
	defer cancel()
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, node := range nodes.Items {
		if strings.HasPrefix(node.Name, prefix) {
			names = append(names, node.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completionOf returns the command line whose completion kubectl asks a plugin for. kubectl
// runs kubectl_complete-NAME for the plugin NAME.
func completionOf(name string) ([]string, bool) {
	switch plugin, found := strings.CutPrefix(name, "kubectl_complete-"); {
	case found && plugin == "kudo":
		return []string{cobra.ShellCompRequestCmd, "kudo"}, true
	case found:
		return []string{cobra.ShellCompRequestCmd}, true
	}
	return nil, false
}
