package kudo

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/api"
)

// valueFlags holds the flags for parameter values.
type valueFlags struct {
	pairs, files []string
}

func (v *valueFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&v.pairs, "parameter", "p", nil, "a parameter as NAME=VALUE; may be given several times")
	flags.StringArrayVarP(&v.files, "parameter-file", "P", nil,
		"a YAML file of parameters, NAME: VALUE; null removes a value, - is stdin, and -p wins over a file; may be given several times")
}

// parameterValues holds values by parameter name. A nil value removes the parameter from the
// Instance.
type parameterValues map[string]*string

// read reads the values from the files in order, then from the pairs. Later ones win.
func (v *valueFlags) read(stdin io.Reader) (parameterValues, error) {
	all := parameterValues{}
	for _, file := range v.files {
		text, err := readFile(stdin, file)
		if err != nil {
			return nil, fmt.Errorf("parameter file %s: %w", file, err)
		}
		more, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("parameter file %s: %w", file, err)
		}
		maps.Copy(all, more)
	}
	for _, pair := range v.pairs {
		name, text, found := strings.Cut(pair, "=")
		if !found || name == "" {
			return nil, fmt.Errorf("--parameter %q: not NAME=VALUE", pair)
		}
		all[name] = &text
	}
	return all, nil
}

// readFile reads a file, or stdin for "-".
func readFile(stdin io.Reader, file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(file)
}

// parse decodes a parameter file. The values are converted like the defaults in a package.
func parse(text []byte) (parameterValues, error) {
	document, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(document, &raw); err != nil {
		return nil, fmt.Errorf("not an object of names and values: %w", err)
	}
	all := parameterValues{}
	for name, content := range raw {
		all[name] = nil
		if value, set := api.ParameterText(content); set {
			all[name] = &value
		}
	}
	return all, nil
}

// applyTo returns the stored values with these values set and removed.
func (p parameterValues) applyTo(stored map[string]string) map[string]string {
	wanted := maps.Clone(stored)
	if wanted == nil {
		wanted = map[string]string{}
	}
	for name, text := range p {
		if text == nil {
			delete(wanted, name)
			continue
		}
		wanted[name] = *text
	}
	return wanted
}

// names returns the sorted names of the parameters that have a value.
func (p parameterValues) names() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if p[name] != nil {
			names = append(names, name)
		}
	}
	return names
}
