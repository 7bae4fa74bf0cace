package pack

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/mail"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/operator/api"
)

func (p *Package) parseOperator(text []byte) error {
	if text == nil {
		return fmt.Errorf("%s: not in the package", OperatorFileName)
	}
	notes, err := decode(OperatorFileName, text, &p.Operator, newerOperator)
	p.notes = append(p.notes, notes...)
	if err != nil {
		return err
	}
	return supported(OperatorFileName, &p.Operator.APIVersion)
}

func (p *Package) parseParams(text []byte) error {
	if text != nil {
		notes, err := decode(ParamsFileName, text, &p.Params, newerParams)
		p.notes = append(p.notes, notes...)
		if err != nil {
			return err
		}
	}
	return supported(ParamsFileName, &p.Params.APIVersion)
}

func supported(file string, apiVersion *string) error {
	want := api.GroupVersion.String()
	if *apiVersion == "" {
		*apiVersion = want
	}
	if *apiVersion != want {
		return fmt.Errorf("%s: apiVersion: %q is not supported, only %s", file, *apiVersion, want)
	}
	return nil
}

// decode reads a file into target. newer brings a file in an older form into the
// present one and says whether it did.
func decode(file string, text []byte, target any, newer func(map[string]any) bool) (Findings, error) {
	document, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var content map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(document, &content); err != nil || content == nil {
		return nil, fmt.Errorf("%s: an object is expected", file)
	}
	var notes Findings
	if _, err := yaml.YAMLToJSONStrict(text); err != nil {
		notes = append(notes, Finding{Warning, file, err.Error()})
	}
	if newer(content) {
		if document, err = json.Marshal(content); err != nil {
			return notes, fmt.Errorf("%s: %w", file, err)
		}
		text = document
	}
	// Only for the fields it does not know: it is stricter about types than YAML.
	strict, _ := kjson.UnmarshalStrict(document, blank(target))
	for _, unknown := range strict {
		notes = append(notes, Finding{Warning, file, unknown.Error()})
	}
	if err := yaml.Unmarshal(text, target); err != nil {
		return notes, fmt.Errorf("%s: %s", file, typeProblem(err))
	}
	return notes, nil
}

func blank(target any) any {
	if _, ok := target.(*OperatorFile); ok {
		return &OperatorFile{}
	}
	return &ParamsFile{}
}

func typeProblem(err error) string {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return fmt.Sprintf("%s: %s is not what is expected here", mismatch.Field, mismatch.Value)
	}
	message := err.Error()
	for _, prefix := range []string{"error unmarshaling JSON: ", "while decoding JSON: ", "json: "} {
		message = strings.TrimPrefix(message, prefix)
	}
	return message
}

// newerOperator: the first packages had version for operatorVersion, tasks as a
// map of resources, and maintainers as text.
func newerOperator(content map[string]any) bool {
	changed := false
	if version, found := content["version"]; found && content["operatorVersion"] == nil {
		content["operatorVersion"] = version
		delete(content, "version")
		changed = true
	}
	if tasks, isMap := content["tasks"].(map[string]any); isMap {
		var list []any
		for _, name := range slices.Sorted(maps.Keys(tasks)) {
			list = append(list, map[string]any{"name": name, "kind": string(api.ApplyTask), "spec": tasks[name]})
		}
		content["tasks"] = list
		changed = true
	}
	maintainers, _ := content["maintainers"].([]any)
	for i, maintainer := range maintainers {
		text, isText := maintainer.(string)
		if !isText {
			continue
		}
		changed = true
		maintainers[i] = map[string]any{"name": text}
		if address, err := mail.ParseAddress(text); err == nil && address.Name != "" {
			maintainers[i] = map[string]any{"name": address.Name, "email": address.Address}
		}
	}
	return changed
}

// newerParams: the first packages had a map of parameters by their names.
func newerParams(content map[string]any) bool {
	if _, present := content["parameters"]; present {
		return false
	}
	var list []any
	for _, name := range slices.Sorted(maps.Keys(content)) {
		if name == "apiVersion" || name == "groups" || name == "kind" {
			continue
		}
		definition, isObject := content[name].(map[string]any)
		if content[name] != nil && !isObject {
			// Not a parameter: a field that there is not, and is reported so.
			continue
		}
		param := map[string]any{"name": name}
		maps.Copy(param, definition)
		list = append(list, param)
		delete(content, name)
	}
	if list == nil {
		return false
	}
	content["parameters"] = list
	return true
}
