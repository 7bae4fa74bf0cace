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

	"holdfast.dev/holdfast/operator/pack"
)

// values are parameters given on the command line.
type values struct {
	pairs, files []string
}

func (v *values) addFlags(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&v.pairs, "parameter", "p", nil, "a parameter as NAME=VALUE; may be given several times")
	flags.StringArrayVarP(&v.files, "parameter-file", "P", nil,
		"a YAML file of parameters, NAME: VALUE, where null takes a value away; may be given several times, - is stdin; -p goes before it")
}

// given are values by name; nil is for a value that shall go.
type given map[string]*string

// read reads the files in their order, then the pairs.
func (v *values) read(stdin io.Reader) (given, error) {
	all := given{}
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

func readFile(stdin io.Reader, file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(file)
}

// parse reads the values as those of the defaults in a package are read, so that
// one text means the same in both.
func parse(text []byte) (given, error) {
	document, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(document, &raw); err != nil {
		return nil, fmt.Errorf("not an object of names and values: %w", err)
	}
	like := &pack.Package{}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		like.Params.Parameters = append(like.Params.Parameters, pack.Param{Name: name, Default: raw[name]})
	}
	all := given{}
	for _, definition := range like.Definitions().Definitions {
		all[definition.Name] = definition.Default
	}
	return all, nil
}

// over is what values become with these.
func (g given) over(stored map[string]string) map[string]string {
	wanted := maps.Clone(stored)
	if wanted == nil {
		wanted = map[string]string{}
	}
	for name, text := range g {
		if text == nil {
			delete(wanted, name)
			continue
		}
		wanted[name] = *text
	}
	return wanted
}

// names are those that were given a value.
func (g given) names() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(g)) {
		if g[name] != nil {
			names = append(names, name)
		}
	}
	return names
}
