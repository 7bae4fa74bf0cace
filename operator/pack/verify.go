package pack

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/parameters"
)

// Verify finds everything that is wrong with a package: what keeps it from
// being installed, and as warnings what is of no use. Packages that it brings along
// are a part of it.
func (p *Package) Verify() Findings {
	var all Findings
	for folder, each := range p.All() {
		all = append(all, each.verify().In(folder)...)
	}
	return all.failuresFirst()
}

func (p *Package) verify() Findings {
	v := &verifier{Package: p, used: map[string]bool{}, templates: map[string]bool{}, tasks: map[string]bool{}}
	v.findings = append(v.findings, p.notes...)
	v.operator()
	v.plans()
	v.tasksOf()
	v.templateFiles()
	v.params()
	return v.findings
}

// verifier collects findings, and what is used.
type verifier struct {
	*Package
	findings Findings
	// used are the parameters, templates and tasks that something refers to.
	used, templates, tasks map[string]bool
	// dynamic means that a template takes parameters by names it computes.
	dynamic bool
}

func (v *verifier) operatorf(field, format string, args ...any) {
	v.findings.fail(OperatorFileName+": "+field, fmt.Sprintf(format, args...))
}

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

func (v *verifier) strategy(path string, strategy api.Strategy) {
	switch strategy {
	case "", api.Serial, api.Parallel:
	default:
		v.operatorf(path+".strategy", "%q is neither serial nor parallel", strategy)
	}
}

// named checks a name that is needed and must be there once.
func (v *verifier) named(path, name string, seen map[string]bool) {
	switch {
	case name == "":
		v.operatorf(path+".name", "required")
	case seen[name]:
		v.operatorf(path+".name", "%q is there twice", name)
	}
	seen[name] = true
}

// list is names for people.
func list(names []string) string { return strings.Join(names, ", ") }
