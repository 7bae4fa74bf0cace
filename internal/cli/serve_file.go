package cli

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// readSettings sets the flags that a YAML file names and the command line does not. The keys of
// the file are the names of flags. A list sets a flag several times, and a map sets key=value.
func readSettings(file string, flags *pflag.FlagSet) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	var settings map[string]any
	if err := yaml.UnmarshalStrict(data, &settings); err != nil {
		return fmt.Errorf("--config %s: %w", file, err)
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		flag := flags.Lookup(name)
		if flag == nil || name == "config" || name == "help" || name == "version" {
			return fmt.Errorf("--config %s: no flag has the name %q", file, name)
		}
		if flag.Changed {
			continue
		}
		values, err := flagValues(settings[name])
		if err != nil {
			return fmt.Errorf("--config %s: %s: %w", file, name, err)
		}
		for _, value := range values {
			if err := flags.Set(name, value); err != nil {
				return fmt.Errorf("--config %s: %w", file, err)
			}
		}
	}
	return nil
}

// flagValues returns the texts that a value in the file stands for on the command line.
func flagValues(value any) ([]string, error) {
	switch value := value.(type) {
	case string:
		return []string{value}, nil
	case bool:
		return []string{strconv.FormatBool(value)}, nil
	case float64:
		return []string{strconv.FormatFloat(value, 'f', -1, 64)}, nil
	case []any:
		var all []string
		for _, item := range value {
			texts, err := flagValues(item)
			if err != nil {
				return nil, err
			}
			all = append(all, texts...)
		}
		return all, nil
	case map[string]any:
		var all []string
		for _, key := range slices.Sorted(maps.Keys(value)) {
			texts, err := flagValues(value[key])
			if err != nil || len(texts) != 1 {
				return nil, fmt.Errorf("%s: must be a text, a number, true or false", key)
			}
			all = append(all, key+"="+texts[0])
		}
		return all, nil
	}
	return nil, fmt.Errorf("must be a text, a number, true, false, a list or a map")
}
