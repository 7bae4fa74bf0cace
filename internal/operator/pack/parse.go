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

	"holdfast.dev/holdfast/api"
)

// parseOperator decodes operator.yaml, which is required.
func (p *Package) parseOperator(text []byte) error {
	if text == nil {
		return fmt.Errorf("%s: not in the package", OperatorFileName)
	}
	warnings, err := decode(OperatorFileName, text, &p.Operator, convertOldOperator)
	p.warnings = append(p.warnings, warnings...)
	if err != nil {
		return err
	}
	return supported(OperatorFileName, &p.Operator.APIVersion)
}

// parseParams decodes params.yaml. A package may have none.
func (p *Package) parseParams(text []byte) error {
	if text != nil {
		warnings, err := decode(ParamsFileName, text, &p.Params, convertOldParams)
		p.warnings = append(p.warnings, warnings...)
		if err != nil {
			return err
		}
	}
	return supported(ParamsFileName, &p.Params.APIVersion)
}

// supported sets an empty apiVersion to the only supported one and refuses any other.
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

// decode decodes a file into target, which is an OperatorFile or a ParamsFile. The
// function convertOld changes content in an older format to the current one and reports
// whether it changed anything. Duplicate keys and unknown fields are returned as warnings.
func decode(file string, text []byte, target any, convertOld func(map[string]any) bool) (Findings, error) {
	document, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var content map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(document, &content); err != nil || content == nil {
		return nil, fmt.Errorf("%s: an object is expected", file)
	}
	var warnings Findings
	if _, err := yaml.YAMLToJSONStrict(text); err != nil {
		warnings = append(warnings, Finding{Warning, file, err.Error()})
	}
	if convertOld(content) {
		if document, err = json.Marshal(content); err != nil {
			return warnings, fmt.Errorf("%s: %w", file, err)
		}
		text = document
	}
	// UnmarshalStrict is used for its list of unknown fields only. Its error is ignored
	// because it accepts fewer types than yaml.Unmarshal below.
	strict, _ := kjson.UnmarshalStrict(document, newLike(target))
	for _, unknown := range strict {
		warnings = append(warnings, Finding{Warning, file, unknown.Error()})
	}
	if err := yaml.Unmarshal(text, target); err != nil {
		return warnings, fmt.Errorf("%s: %s", file, typeProblem(err))
	}
	return warnings, nil
}

// newLike returns a new empty value of the type of target.
func newLike(target any) any {
	if _, ok := target.(*OperatorFile); ok {
		return &OperatorFile{}
	}
	return &ParamsFile{}
}

// typeProblem returns a short description of a decoding error.
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

// convertOldOperator converts operator.yaml of early KUDO versions, which had version
// instead of operatorVersion, tasks as a map of resources, and maintainers as text.
func convertOldOperator(content map[string]any) bool {
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

// convertOldParams converts params.yaml of early KUDO versions, which was a map of
// parameters by name.
func convertOldParams(content map[string]any) bool {
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
			// This cannot be a parameter. It stays and is reported as an unknown field.
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
