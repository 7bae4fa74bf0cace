// Package output is the flag -o of the commands that print text for people, and JSON or YAML for programs.
//
//	var format output.Format
//	format.AddFlag(cmd)
//	if format != "" {
//		return format.Print(cmd.OutOrStdout(), report)
//	}
package output

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// The values of -o.
const (
	JSON = "json"
	YAML = "yaml"
)

// Format is the value of -o: json, yaml, or empty for text.
type Format string

// AddFlag adds -o to a command.
func (f *Format) AddFlag(cmd *cobra.Command) {
	cmd.Flags().StringVarP((*string)(f), "output", "o", "", "json or yaml, for programs; empty prints text")
}

// Validate checks the value, for commands that do much before they print.
func (f Format) Validate() error {
	switch f {
	case "", JSON, YAML:
		return nil
	}
	return fmt.Errorf("output %q: must be %s or %s", string(f), JSON, YAML)
}

// Print prints a value as JSON or YAML.
func (f Format) Print(out io.Writer, value any) error {
	if err := f.Validate(); err != nil {
		return err
	}
	if f == YAML {
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
