package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// The values of -o.
const (
	outputJSON = "json"
	outputYAML = "yaml"
)

// outputFormat is the value of -o: json, yaml, or empty for text.
type outputFormat string

// addFlag adds -o to a command. The shell completes its values.
func (o *outputFormat) addFlag(cmd *cobra.Command) {
	cmd.Flags().StringVarP((*string)(o), "output", "o", "", "json or yaml, for programs; empty prints text")
}

// validate checks the value, for commands that do much before they print.
func (o outputFormat) validate() error {
	switch o {
	case "", outputJSON, outputYAML:
		return nil
	}
	return fmt.Errorf("output %q: must be %s or %s", string(o), outputJSON, outputYAML)
}

// print prints a value as JSON or YAML.
func (o outputFormat) print(out io.Writer, value any) error {
	if err := o.validate(); err != nil {
		return err
	}
	if o == outputYAML {
		text, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
