package kudo

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/operator/pack"
)

const addHelp = `Add a part to the package in a folder. The comments of its files stay. If the
package would have more errors than before, as "package verify" finds them,
nothing is written.

On a terminal, the command asks for what the arguments and flags do not say.`

func newAddCommand() *cobra.Command {
	cmd := group("add", "Add a maintainer, a parameter, a task or a plan to a package",
		newAddMaintainerCommand(), newAddParameterCommand(), newAddTaskCommand(), newAddPlanCommand())
	cmd.Long = addHelp
	return cmd
}

// addition is what the commands of "package add" share.
type addition struct {
	folder string
	// answers reads the answers of the user, nil if there is no terminal.
	answers *bufio.Reader
	prompts io.Writer
}

// command sets up a command that adds a part to a package.
func (a *addition) command(cmd *cobra.Command, add func(args []string) (pack.Edit, error)) *cobra.Command {
	cmd.Long = addHelp
	cmd.Flags().StringVar(&a.folder, "path", ".", "folder of the package")
	cmd.Flags().BoolP("interactive", "i", false, "ask for what is missing; on a terminal, the command always does")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if in, isFile := cmd.InOrStdin().(*os.File); isFile && term.IsTerminal(int(in.Fd())) {
			a.answers, a.prompts = bufio.NewReader(in), cmd.ErrOrStderr()
		}
		edit, err := add(args)
		if err != nil {
			return err
		}
		if err := pack.EditFolder(a.folder, edit); err != nil {
			return fmt.Errorf("package %s: %w", a.folder, err)
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s added to package %s\n", strings.TrimSuffix(cmd.Name()+" "+edit.Name, " "), a.folder)
		return err
	}
	return cmd
}

// ask returns a value that is given, or asks for it. It is an error if there is neither.
func (a *addition) ask(value, what string) (string, error) {
	if value != "" {
		return value, nil
	}
	if a.answers == nil {
		return "", fmt.Errorf("%s: required", what)
	}
	if _, err := fmt.Fprintf(a.prompts, "%s: ", what); err != nil {
		return "", err
	}
	line, err := a.answers.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if line = strings.TrimSpace(line); line == "" {
		return "", fmt.Errorf("%s: required", what)
	}
	return line, nil
}

// argument returns the argument with an index, "" if there is none.
func argument(args []string, index int) string {
	if index < len(args) {
		return args[index]
	}
	return ""
}

func newAddMaintainerCommand() *cobra.Command {
	var a addition
	return a.command(&cobra.Command{
		Use: "maintainer [NAME EMAIL]", Short: "Add a maintainer to operator.yaml", Args: arguments.AtMost("NAME", "EMAIL"),
		Example: `  holdfast kudo package add maintainer "A Team" team@example.com --path ./greeter`,
	}, func(args []string) (pack.Edit, error) {
		name, err := a.ask(argument(args, 0), "name")
		if err != nil {
			return pack.Edit{}, err
		}
		email, err := a.ask(argument(args, 1), "email")
		return pack.Edit{File: pack.OperatorFileName, Field: "maintainers", Name: name, Value: api.Maintainer{Name: name, Email: email}}, err
	})
}

func newAddPlanCommand() *cobra.Command {
	var a addition
	var steps []string
	var strategy string
	cmd := a.command(&cobra.Command{
		Use: "plan [NAME]", Short: "Add a plan to operator.yaml", Args: arguments.AtMost("NAME"),
		Example: `  holdfast kudo package add plan backup --step main/save=save --step main/forget=forget,report --path ./greeter`,
	}, func(args []string) (pack.Edit, error) {
		name, err := a.ask(argument(args, 0), "name")
		if err != nil {
			return pack.Edit{}, err
		}
		if len(steps) == 0 {
			text, err := a.ask("", "steps (PHASE/STEP=TASK,TASK, separated by spaces)")
			if err != nil {
				return pack.Edit{}, err
			}
			steps = strings.Fields(text)
		}
		plan := api.Plan{Strategy: api.Strategy(strategy)}
		for _, step := range steps {
			if err := addStep(&plan, step); err != nil {
				return pack.Edit{}, err
			}
		}
		return pack.Edit{File: pack.OperatorFileName, Field: "plans", Key: name, Name: name, Value: plan}, nil
	})
	cmd.Flags().StringArrayVar(&steps, "step", nil, "a step, as PHASE/STEP=TASK,TASK; for each step, in order")
	cmd.Flags().StringVar(&strategy, "strategy", string(api.Serial), "strategy of the plan and its phases: serial or parallel")
	return cmd
}

// addStep adds a step, written as PHASE/STEP=TASK,TASK, to a plan. A phase that is not there yet
// becomes the last one.
func addStep(plan *api.Plan, text string) error {
	place, tasks, hasTasks := strings.Cut(text, "=")
	phase, step, hasStep := strings.Cut(place, "/")
	if !hasTasks || !hasStep || phase == "" || step == "" || tasks == "" {
		return fmt.Errorf("--step %q: must be PHASE/STEP=TASK,TASK", text)
	}
	added := api.Step{Name: step, Tasks: strings.Split(tasks, ",")}
	for i := range plan.Phases {
		if plan.Phases[i].Name == phase {
			plan.Phases[i].Steps = append(plan.Phases[i].Steps, added)
			return nil
		}
	}
	plan.Phases = append(plan.Phases, api.Phase{Name: phase, Strategy: plan.Strategy, Steps: []api.Step{added}})
	return nil
}
