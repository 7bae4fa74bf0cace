package pack

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/parameters"
)

// params checks the parameters. It runs last, when it is known which ones are used.
func (v *verifier) params() {
	names := map[string]bool{}
	groups := map[string]bool{}
	for _, group := range v.Params.Groups {
		groups[group.Name] = true
	}
	for i := range v.Params.Parameters {
		param := &v.Params.Parameters[i]
		path := fmt.Sprintf("%s: parameters[%d]", ParamsFileName, i)
		switch {
		case param.Name == "":
			v.findings.fail(path+".name", "required")
			continue
		case names[param.Name]:
			v.findings.fail(path+".name", fmt.Sprintf("%q is there twice", param.Name))
		}
		names[param.Name] = true
		v.param(path, param)
		if param.Group != "" && !groups[param.Group] {
			v.findings.warn(path+".group", fmt.Sprintf("there is no group %q", param.Group))
		}
		if !v.used[param.Name] && !v.dynamic && param.Trigger == "" {
			v.findings.warn(path, fmt.Sprintf("no template and no task uses parameter %q", param.Name))
		}
	}
}

// param checks the definition of one parameter.
func (v *verifier) param(path string, param *Param) {
	resource := param.resource()
	definition := resource.Definition()
	if _, given := api.ParameterText(param.Default); definition.Immutable && !definition.Required && !given {
		v.findings.fail(path, fmt.Sprintf("parameter %q is immutable but is not marked as required or has a default value", param.Name))
	}
	if param.Type != "" && !slices.Contains(parameters.Types(), definition.Type) {
		v.findings.fail(path+".type", fmt.Sprintf("%q is not one of string, integer, number, boolean, array, map", param.Type))
		return
	}
	if param.Trigger != "" {
		if _, found := v.Operator.Plans[param.Trigger]; !found {
			plans := list(slices.Sorted(maps.Keys(v.Operator.Plans)))
			v.findings.fail(path+".trigger", fmt.Sprintf("there is no plan %q, only %s", param.Trigger, plans))
		}
	}
	if param.Enum != nil && len(param.Enum) == 0 {
		v.findings.fail(path+".enum", "no value is allowed")
	}
	plainType := parameters.Definition{Name: param.Name, Type: definition.Type}
	for i, allowed := range definition.Enum {
		if problem := plainType.Problem(allowed); problem != "" {
			v.findings.fail(fmt.Sprintf("%s.enum[%d]", path, i), problem)
		}
	}
	switch composite := regexp.MustCompile(`^\s*[\[{]`).Match(param.Default); {
	case definition.Default == nil:
	case composite && definition.Type != parameters.Array && definition.Type != parameters.Map:
		v.findings.fail(path+".default", fmt.Sprintf("a list or an object needs type array or map, not %q", param.Type))
	case *definition.Default != "":
		if problem := definition.Problem(*definition.Default); problem != "" {
			v.findings.fail(path+".default", problem)
		}
	}
}
