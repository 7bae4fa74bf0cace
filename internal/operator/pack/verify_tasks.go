package pack

import (
	"fmt"
	"regexp"
	"slices"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/parameters"
)

// taskList checks the tasks and marks the parameters and templates that they use.
func (v *verifier) taskList() {
	names := map[string]bool{}
	for i := range v.Operator.Tasks {
		task := &v.Operator.Tasks[i]
		path := fmt.Sprintf("tasks[%d]", i)
		v.named(path, task.Name, names)
		v.task(path, task)
		if task.Name != "" && !v.tasks[task.Name] {
			v.findings.warn(OperatorFileName+": "+path, fmt.Sprintf("no plan uses task %q", task.Name))
		}
	}
}

// task checks the spec of one task against its kind.
func (v *verifier) task(path string, task *api.Task) {
	spec := task.Spec
	for i, resource := range spec.Resources {
		v.template(fmt.Sprintf("%s.spec.resources[%d]", path, i), resource)
	}
	switch task.Kind {
	case api.ApplyTask, api.DeleteTask, api.ToggleTask:
		if len(spec.Resources) == 0 {
			v.operatorf(path+".spec.resources", "required for %s", task.Kind)
		}
	case api.PipeTask:
		v.pipe(path+".spec", spec)
	case api.KudoOperatorTask:
		v.dependency(path+".spec", spec)
		if spec.ParameterFile != "" {
			v.template(path+".spec.parameterFile", spec.ParameterFile)
		}
	case api.DummyTask:
	case "":
		v.operatorf(path+".kind", "required")
	default:
		v.operatorf(path+".kind", "%q is not one of Apply, Delete, Toggle, Pipe, KudoOperator, Dummy", task.Kind)
	}
	if task.Kind == api.ToggleTask {
		v.toggle(path+".spec.parameter", spec.Parameter)
	}
}

// dependency checks the package that a KudoOperator task installs. Only a bundled package
// is examined; repositories are not accessed.
func (v *verifier) dependency(path string, spec api.TaskSpec) {
	folder, err := folderOf(spec.Package)
	bundled := v.Bundled[spec.Package]
	switch {
	case spec.Package == "":
		v.operatorf(path+".package", "required for %s", api.KudoOperatorTask)
	case err != nil:
		v.operatorf(path+".package", "%s", err)
	case folder == "":
	case bundled == nil:
		v.operatorf(path+".package", "there is no file %s/%s", folder, OperatorFileName)
	case spec.OperatorVersion != "" && spec.OperatorVersion != bundled.Operator.OperatorVersion:
		v.operatorf(path+".operatorVersion", "the package in folder %s has %q", folder, bundled.Operator.OperatorVersion)
	case spec.AppVersion != "" && spec.AppVersion != bundled.Operator.AppVersion:
		v.operatorf(path+".appVersion", "the package in folder %s has %q", folder, bundled.Operator.AppVersion)
	}
}

// toggle checks the parameter of a Toggle task.
func (v *verifier) toggle(path, parameter string) {
	v.used[parameter] = true
	switch {
	case parameter == "":
		v.operatorf(path, "required for Toggle")
	case !v.defined(parameter):
		v.operatorf(path, "%s", v.noParameter(parameter))
	}
}

// noParameter returns the message about a parameter that the package does not have.
func (v *verifier) noParameter(name string) string {
	var known []string
	for i := range v.Params.Parameters {
		known = append(known, v.Params.Parameters[i].Name)
	}
	return fmt.Sprintf("there is no parameter %q%s", name, parameters.Suggestion(name, known))
}

// defined reports whether the package has a parameter.
func (v *verifier) defined(parameter string) bool {
	return slices.ContainsFunc(v.Params.Parameters, func(p Param) bool { return p.Name == parameter })
}

// template marks a template as used and checks that it exists.
func (v *verifier) template(path, name string) {
	v.templates[name] = true
	if _, found := v.Templates[name]; !found {
		v.operatorf(path, "there is no file %s/%s", templatesFolder, name)
	}
}

var pipeKey = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// pipe checks the spec of a Pipe task.
func (v *verifier) pipe(path string, spec api.TaskSpec) {
	if spec.Pod == "" {
		v.operatorf(path+".pod", "required for Pipe")
	} else {
		v.template(path+".pod", spec.Pod)
	}
	if len(spec.Pipe) == 0 {
		v.operatorf(path+".pipe", "required for Pipe")
	}
	for i, file := range spec.Pipe {
		path := fmt.Sprintf("%s.pipe[%d]", path, i)
		if (file.File == "") == (file.EnvFile == "") {
			v.operatorf(path, "either file or envFile is needed")
		}
		if file.Kind != "Secret" && file.Kind != "ConfigMap" {
			v.operatorf(path+".kind", "%q is neither Secret nor ConfigMap", file.Kind)
		}
		if !pipeKey.MatchString(file.Key) {
			v.operatorf(path+".key", "%q is not made of letters, digits, _ and -", file.Key)
		}
	}
}
