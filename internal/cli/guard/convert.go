package guard

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/definition/source"
	"holdfast.dev/holdfast/internal/definition/stock"
	"holdfast.dev/holdfast/internal/manifest"
)

const convertHelp = `Move the markers of CustomResourceDefinitions into an annotation, or back.

A Kubernetes API server refuses a schema with markers such as x-kubernetes-immutable
and x-kubernetes-update, or drops them. It keeps the annotation holdfast.dev/immutability,
which "holdfast serve" and "holdfast guard serve" both read. With --to markers the command
moves the rules of the annotation into the schemas again.

A schema cannot state a rule with "unless" or "while", a rule about deletion, labels or
annotations, or a second rule for a field. Such lines stay in the annotation, and with
--to markers the command names them.

In both directions it removes the CEL rules that "holdfast schema compile" wrote. It
refuses a definition that the other side cannot express, and prints nothing for it. Objects
of other kinds are not printed. Comments of the file are lost.`

// conversion holds the flags of the command.
type conversion struct{ to string }

func newConvertCommand() *cobra.Command {
	var c conversion
	cmd := &cobra.Command{
		Use:   "convert (FILE | DIRECTORY | PATTERN | -)...",
		Short: "Move markers of definitions into the annotation, or back",
		Long:  convertHelp,
		Example: `  holdfast guard convert -f examples/widgets.yaml
  holdfast guard convert -f examples/widgets.yaml | holdfast guard convert --to markers -f -`,
		Args: arguments.AtLeastOne("FILE"),
		RunE: c.run,
	}
	command.TakeFiles(cmd)
	cmd.Flags().StringVar(&c.to, "to", string(stock.Annotation), "where the markers go: annotation, or markers in the schema")
	return cmd
}

func (c *conversion) run(cmd *cobra.Command, files []string) error {
	target := stock.Target(c.to)
	if target != stock.Annotation && target != stock.Markers {
		return fmt.Errorf("--to %q: must be annotation or markers", c.to)
	}
	objects, err := readDefinitions(cmd.InOrStdin(), files)
	if err != nil {
		return err
	}
	refused, separator := 0, ""
	for _, o := range objects {
		converted, err := c.convert(cmd, target, o)
		if err != nil {
			return err
		}
		if converted == nil {
			refused++
			continue
		}
		text, err := yaml.Marshal(converted)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s%s", separator, text); err != nil {
			return err
		}
		separator = "---\n"
	}
	if refused > 0 {
		return command.Refused(fmt.Errorf("definitions that cannot be converted: %d", refused))
	}
	return nil
}

// convert returns a converted definition, nil if it cannot be converted. It prints why.
func (c *conversion) convert(cmd *cobra.Command, target stock.Target, o manifest.Object) (map[string]any, error) {
	say := func(name, path, message string) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s:%d: %s: %s: %s\n", o.File, o.Locate(path).Line, name, path, message)
	}
	rules, err := split(o)
	if err != nil {
		say(o.Kind, annotationPath, err.Error())
		return nil, nil
	}
	result := stock.Compile(cmd.Context(), rules.Object, stock.Options{Target: target})
	for _, r := range result.Refusals {
		say(result.Name, r.Path, r.Message)
	}
	if len(result.Refusals) > 0 {
		return nil, nil
	}
	converted := result.Objects[0]
	wrong, err := rules.addRest(converted)
	if err != nil {
		return nil, err
	}
	for _, e := range wrong {
		say(result.Name, e.Field, e.ErrorBody())
	}
	if len(wrong) > 0 {
		return nil, nil
	}
	if target == stock.Markers {
		for _, m := range rules.rest {
			say(result.Name, annotationPath, "stays in the annotation, because no schema can state it: "+m.String())
		}
	}
	return converted, nil
}

// readDefinitions reads the CustomResourceDefinitions in files. It is an error if there is none.
func readDefinitions(stdin io.Reader, args []string) ([]manifest.Object, error) {
	inputs, err := manifest.Expand(args)
	if err != nil {
		return nil, err
	}
	var all []manifest.Object
	for _, input := range inputs {
		data, err := readInput(stdin, input.Name)
		if err != nil {
			return nil, err
		}
		for _, document := range manifest.Split(input.Name, data) {
			objects, err := document.Objects()
			if err != nil && input.Explicit {
				return nil, fmt.Errorf("%s: %w", input.Name, err)
			}
			for _, o := range objects {
				if source.IsDefinition(o) {
					all = append(all, o)
				}
			}
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no CustomResourceDefinition in the files")
	}
	return all, nil
}

func readInput(stdin io.Reader, name string) ([]byte, error) {
	if name == manifest.Stdin {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(name)
}
