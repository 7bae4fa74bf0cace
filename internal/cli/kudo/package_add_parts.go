package kudo

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/operator/pack"
)

func newAddParameterCommand() *cobra.Command {
	var a addition
	var p pack.Param
	var value string
	var required, immutable, advanced bool
	var enum []string
	cmd := &cobra.Command{
		Use: "parameter [NAME]", Short: "Add a parameter to params.yaml", Args: arguments.AtMost("NAME"),
		Example: `  holdfast kudo package add parameter REGION --default north --immutable --path ./greeter
  holdfast kudo package add parameter SIZE --type integer --default 3 --path ./greeter`,
	}
	a.command(cmd, func(args []string) (pack.Edit, error) {
		var err error
		if p.Name, err = a.ask(argument(args, 0), "name"); err != nil {
			return pack.Edit{}, err
		}
		if cmd.Flags().Changed("default") {
			if p.Default, err = typedValue(p.Type, value); err != nil {
				return pack.Edit{}, fmt.Errorf("--default: %w", err)
			}
		}
		for _, each := range enum {
			allowed, err := typedValue(p.Type, each)
			if err != nil {
				return pack.Edit{}, fmt.Errorf("--enum: %w", err)
			}
			p.Enum = append(p.Enum, allowed)
		}
		for name, to := range map[string]struct {
			field **bool
			value *bool
		}{"required": {&p.Required, &required}, "immutable": {&p.Immutable, &immutable}, "advanced": {&p.Advanced, &advanced}} {
			if cmd.Flags().Changed(name) {
				*to.field = to.value
			}
		}
		return pack.Edit{File: pack.ParamsFileName, Field: "parameters", Name: p.Name, Value: p}, nil
	})
	flags := cmd.Flags()
	flags.StringVar(&value, "default", "", "default value; YAML, unless the type is string")
	flags.StringVar(&p.Type, "type", "", "string, integer, number, boolean, array or map")
	flags.StringVar(&p.Description, "description", "", "what the parameter is for")
	flags.StringVar(&p.DisplayName, "display-name", "", "name for people")
	flags.StringVar(&p.Trigger, "trigger", "", "plan that a change of the value runs")
	flags.StringVar(&p.Group, "group", "", "group of the parameter")
	flags.StringVar(&p.Hint, "hint", "", "what a value looks like")
	flags.StringArrayVar(&enum, "enum", nil, "an allowed value; for each value")
	flags.BoolVar(&required, "required", true, "whether a value is needed")
	flags.BoolVar(&immutable, "immutable", false, "whether the value stays from the installation on")
	flags.BoolVar(&advanced, "advanced", false, "whether only experts change it")
	return cmd
}

// typedValue returns the JSON of a value that is given as text.
func typedValue(kind, text string) (json.RawMessage, error) {
	if kind == "" || kind == "string" {
		return json.Marshal(text)
	}
	value, err := yaml.YAMLToJSON([]byte(text))
	return json.RawMessage(value), err
}

func newAddTaskCommand() *cobra.Command {
	var a addition
	var kind string
	var spec api.TaskSpec
	var files []string
	cmd := a.command(&cobra.Command{
		Use: "task [NAME]", Short: "Add a task to operator.yaml", Args: arguments.AtMost("NAME"),
		Example: `  holdfast kudo package add task service --resource service.yaml --path ./greeter
  holdfast kudo package add task store --kind KudoOperator --operator ../store --path ./greeter`,
	}, func(args []string) (pack.Edit, error) {
		name, err := a.ask(argument(args, 0), "name")
		if err != nil {
			return pack.Edit{}, err
		}
		task := api.Task{Name: name, Kind: api.TaskKind(kind), Spec: spec}
		switch task.Kind {
		case api.ApplyTask, api.DeleteTask, api.ToggleTask:
			if len(spec.Resources) == 0 {
				text, err := a.ask("", "resources (templates, separated by spaces)")
				if err != nil {
					return pack.Edit{}, err
				}
				task.Spec.Resources = strings.Fields(text)
			}
		case api.KudoOperatorTask:
			if task.Spec.Package, err = a.ask(spec.Package, "operator"); err != nil {
				return pack.Edit{}, err
			}
		}
		for _, file := range files {
			pipe, err := pipeOf(file)
			if err != nil {
				return pack.Edit{}, err
			}
			task.Spec.Pipe = append(task.Spec.Pipe, pipe)
		}
		return pack.Edit{File: pack.OperatorFileName, Field: "tasks", Name: name, Value: task, Templates: templatesOf(task.Spec)}, nil
	})
	flags := cmd.Flags()
	flags.StringVar(&kind, "kind", string(api.ApplyTask), "Apply, Delete, Toggle, Pipe, KudoOperator or Dummy")
	flags.StringArrayVar(&spec.Resources, "resource", nil, "template of Apply, Delete and Toggle; for each template. A missing one is created")
	flags.StringVar(&spec.Parameter, "parameter", "", "parameter of Toggle")
	flags.StringVar(&spec.Pod, "pod", "", "template of the pod of Pipe")
	flags.StringArrayVar(&files, "pipe", nil, "file of Pipe, as KEY=Secret:PATH or KEY=ConfigMap:PATH; for each file")
	flags.StringVar(&spec.Package, "operator", "", "package of KudoOperator: a folder, a URL or a name")
	flags.StringVar(&spec.InstanceName, "instance-name", "", "name of the instance of KudoOperator")
	flags.StringVar(&spec.ParameterFile, "parameter-file", "", "template with the values of KudoOperator")
	flags.BoolVar(&spec.Done, "done", false, "whether Dummy completes")
	return cmd
}

// templatesOf returns the templates that a task uses.
func templatesOf(spec api.TaskSpec) []string {
	all := slices.Concat(spec.Resources, []string{spec.Pod, spec.ParameterFile})
	return slices.DeleteFunc(all, func(name string) bool { return name == "" })
}

// pipeOf returns the file of a Pipe task that is written as KEY=KIND:PATH.
func pipeOf(text string) (api.PipeSpec, error) {
	key, rest, hasKey := strings.Cut(text, "=")
	kind, file, hasFile := strings.Cut(rest, ":")
	if !hasKey || !hasFile {
		return api.PipeSpec{}, fmt.Errorf("--pipe %q: must be KEY=Secret:PATH or KEY=ConfigMap:PATH", text)
	}
	return api.PipeSpec{Key: key, Kind: kind, File: file}, nil
}
