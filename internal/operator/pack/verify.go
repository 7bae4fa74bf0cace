package pack

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/parameters"
)

// Verify returns all findings of the package and of the packages bundled with it. A
// problem that prevents the installation is a failure. A part of the package that has no
// effect is a warning.
func (p *Package) Verify() Findings {
	var all Findings
	for folder, each := range p.All() {
		all = append(all, each.verify().In(folder)...)
	}
	return all.failuresFirst()
}

// verify returns the findings of this package alone.
func (p *Package) verify() Findings {
	v := &verifier{Package: p, used: map[string]bool{}, templates: map[string]bool{}, tasks: map[string]bool{}}
	v.findings = append(v.findings, p.warnings...)
	v.operator()
	v.plans()
	v.taskList()
	v.templateFiles()
	v.params()
	return v.findings
}

// verifier collects the findings of a package, and which of its parts are used.
type verifier struct {
	*Package
	findings Findings
	// used, templates and tasks are the names of the parameters, templates and tasks
	// that are referred to.
	used, templates, tasks map[string]bool
	// dynamic is set if a template may access parameters by computed names.
	dynamic bool
}

// operatorf adds a failure about a field of operator.yaml.
func (v *verifier) operatorf(field, format string, args ...any) {
	v.findings.fail(OperatorFileName+": "+field, fmt.Sprintf(format, args...))
}

// operator checks the name and the versions of the operator.
func (v *verifier) operator() {
	name, version := v.Operator.Name, v.Operator.OperatorVersion
	if name == "" {
		v.operatorf("name", "required")
	} else if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		v.operatorf("name", "%q is not a name: %s", name, problems[0])
	}
	if version == "" {
		v.operatorf("operatorVersion", "required")
	} else if _, err := parameters.Compare(version, version); err != nil {
		v.operatorf("operatorVersion", "%s", err)
	}
	if name == "" || version == "" {
		return
	}
	if problems := validation.IsDNS1123Subdomain(v.VersionName()); len(problems) > 0 {
		v.operatorf("appVersion", "the operator version would be named %q: %s", v.VersionName(), problems[0])
	}
}

// plans checks the plans and marks the tasks that they use.
func (v *verifier) plans() {
	if _, found := v.Operator.Plans[parameters.DeployPlan]; !found {
		v.operatorf("plans", "there is no plan deploy")
	}
	for _, name := range slices.Sorted(maps.Keys(v.Operator.Plans)) {
		plan, path := v.Operator.Plans[name], "plans."+name
		v.strategy(path, plan.Strategy)
		if len(plan.Phases) == 0 {
			v.operatorf(path+".phases", "a plan has at least one phase")
		}
		phases := map[string]bool{}
		for i, phase := range plan.Phases {
			path := fmt.Sprintf("%s.phases[%d]", path, i)
			v.named(path, phase.Name, phases)
			v.strategy(path, phase.Strategy)
			if len(phase.Steps) == 0 {
				v.operatorf(path+".steps", "a phase has at least one step")
			}
			v.steps(path, phase.Steps)
		}
	}
}

// steps checks the steps of a phase.
func (v *verifier) steps(path string, list []api.Step) {
	steps := map[string]bool{}
	for i, step := range list {
		path := fmt.Sprintf("%s.steps[%d]", path, i)
		v.named(path, step.Name, steps)
		if len(step.Tasks) == 0 {
			v.operatorf(path+".tasks", "a step has at least one task")
		}
		for j, task := range step.Tasks {
			v.tasks[task] = true
			if !slices.ContainsFunc(v.Operator.Tasks, func(t api.Task) bool { return t.Name == task }) {
				v.operatorf(fmt.Sprintf("%s.tasks[%d]", path, j), "there is no task %q", task)
			}
		}
	}
}

// strategy checks the strategy of a plan or a phase.
func (v *verifier) strategy(path string, strategy api.Strategy) {
	switch strategy {
	case "", api.Serial, api.Parallel:
	default:
		v.operatorf(path+".strategy", "%q is neither serial nor parallel", strategy)
	}
}

// named checks a name that is required and must be unique among those seen.
func (v *verifier) named(path, name string, seen map[string]bool) {
	switch {
	case name == "":
		v.operatorf(path+".name", "required")
	case seen[name]:
		v.operatorf(path+".name", "%q is there twice", name)
	}
	seen[name] = true
}

// list formats names for a message.
func list(names []string) string { return strings.Join(names, ", ") }
