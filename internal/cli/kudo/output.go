package kudo

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// output is the flag --output: "", json or yaml.
type output string

func (o *output) addFlags(flags *pflag.FlagSet) {
	flags.StringVarP((*string)(o), "output", "o", "", "json or yaml, instead of text for people")
}

// print prints a value in the format of the flag.
func (o output) print(out io.Writer, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	switch o {
	case "json":
	case "yaml":
		if text, err = yaml.JSONToYAML(text); err != nil {
			return err
		}
	default:
		return fmt.Errorf("--output %q: must be json or yaml", string(o))
	}
	_, err = out.Write(text)
	return err
}
