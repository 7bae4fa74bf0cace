package admission

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/parameters"
)

// Review is one write.
type Review struct {
	// Old is what is stored, nil when the Instance is created.
	Old *api.Instance
	New *api.Instance
	// Requester is who writes.
	Requester api.Requester
	// Version finds an OperatorVersion in the namespace of the Instance, nil if
	// there is none.
	Version func(name string) (*api.OperatorVersion, error)
	// NewUID names a run of a plan.
	NewUID func() types.UID
}

// Result is what a write comes to.
type Result struct {
	// Instance to store, nil if the write is refused.
	Instance *api.Instance
	Decision parameters.Decision
}

// Decide judges the write. The error is that of finding a version, or names an
// annotation that cannot be read.
func (r Review) Decide() (Result, error) {
	instance := r.New.DeepCopy()
	r.protect(instance)
	version, decision, err := r.decide(instance)
	if err != nil || !decision.Accepted() {
		return Result{Decision: decision}, err
	}
	if decision.Values != nil {
		instance.Spec.Parameters = decision.Values
	}
	if err := r.run(instance, version, decision); err != nil {
		return Result{}, err
	}
	return Result{Instance: instance, Decision: decision}, nil
}

// protect brings back what only admission writes.
func (r Review) protect(instance *api.Instance) {
	var stored map[string]string
	if r.Old != nil {
		stored = r.Old.Annotations
	}
	annotations := maps.Clone(instance.Annotations)
	for _, name := range []string{api.RecordsAnnotation, api.RequesterAnnotation, api.BindingAnnotation} {
		delete(annotations, name)
		if text, found := stored[name]; found {
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[name] = text
		}
	}
	// It asks for something in this write and is done with it.
	delete(annotations, api.RollbackAnnotation)
	instance.Annotations = annotations
}

// decide also returns the OperatorVersion that it judged by, nil if there is none.
func (r Review) decide(instance *api.Instance) (*api.OperatorVersion, parameters.Decision, error) {
	reference := instance.Spec.OperatorVersion
	if reference.Namespace != "" && reference.Namespace != instance.Namespace {
		return nil, refused("operator version %s is in namespace %s: an instance has one of its own namespace", reference.Name, reference.Namespace), nil
	}
	to, err := r.Version(reference.Name)
	if err != nil {
		return nil, parameters.Decision{}, err
	}
	if to == nil {
		if r.unchanged(instance) {
			// It can still be deleted, or labelled.
			return nil, parameters.Decision{}, nil
		}
		return nil, refused("operator version %s does not exist", reference.Name), nil
	}
	var decision parameters.Decision
	switch {
	case r.Old == nil:
		decision = parameters.Install(to.Definitions(), parameters.Request{Wanted: instance.Spec.Parameters})
	case r.Old.Spec.OperatorVersion.Name == reference.Name:
		decision = r.update(instance, to)
	default:
		decision, err = r.change(instance, to)
	}
	return to, decision, err
}

// unchanged says that a write leaves everything that is judged alone.
func (r Review) unchanged(instance *api.Instance) bool {
	return r.Old != nil && r.Old.Spec.OperatorVersion.Name == instance.Spec.OperatorVersion.Name &&
		maps.Equal(r.Old.Spec.Parameters, instance.Spec.Parameters) && r.asked() == ""
}

func (r Review) update(instance *api.Instance, version *api.OperatorVersion) parameters.Decision {
	request := parameters.Request{
		Stored: r.Old.Spec.Parameters, Wanted: instance.Spec.Parameters, Plan: r.asked(), Running: r.Old.RunningPlan(),
	}
	if request.Plan == parameters.CleanupPlan {
		if instance.DeletionTimestamp == nil {
			return refused("plan '%s' runs when the instance is deleted", parameters.CleanupPlan)
		}
		// It ends whatever runs.
		request.Running = ""
	}
	return parameters.Update(version.Definitions(), request)
}

// change goes to another version, up or back, and writes down where from.
func (r Review) change(instance *api.Instance, to *api.OperatorVersion) (parameters.Decision, error) {
	from, err := r.Version(r.Old.Spec.OperatorVersion.Name)
	if err != nil {
		return parameters.Decision{}, err
	}
	if from == nil {
		return refused("operator version %s, which is installed, does not exist", r.Old.Spec.OperatorVersion.Name), nil
	}
	records, err := api.Records(r.Old)
	if err != nil {
		return parameters.Decision{}, err
	}
	request := parameters.Request{Stored: r.Old.Spec.Parameters, Wanted: instance.Spec.Parameters, Running: r.Old.RunningPlan()}
	if r.New.Annotations[api.RollbackAnnotation] == to.Name {
		if last := len(records) - 1; last >= 0 && records[last].OperatorVersion == to.Name {
			request.Recorded = records[last].Parameters
			if request.Recorded == nil {
				request.Recorded = map[string]string{}
			}
			records = records[:last]
		}
		decision := parameters.Rollback(from.Definitions(), to.Definitions(), request)
		return decision, api.SetRecords(instance, records)
	}
	if request.Consented, err = api.ConsentedNames(r.New, to.Name); err != nil {
		return parameters.Decision{}, err
	}
	records = append(records, api.Record{OperatorVersion: from.Name, Parameters: r.Old.Spec.Parameters})
	return parameters.Upgrade(from.Definitions(), to.Definitions(), request), api.SetRecords(instance, records)
}

// asked is the plan that a write asks for by name, "" for none.
func (r Review) asked() string {
	wanted := r.New.Spec.PlanExecution
	if r.Old != nil && wanted.PlanName == r.Old.Spec.PlanExecution.PlanName && wanted.UID == r.Old.Spec.PlanExecution.UID {
		return ""
	}
	return wanted.PlanName
}

// run starts a plan with the rights of the requester, for the version that it was
// judged with. Without a plan, what runs goes on, whatever a client says; what has
// ended may be cleared.
func (r Review) run(instance *api.Instance, version *api.OperatorVersion, decision parameters.Decision) error {
	plan := decision.Plan
	if plan == "" {
		if r.Old.RunningPlan() != "" || instance.Spec.PlanExecution.PlanName != "" {
			instance.Spec.PlanExecution = r.Old.Spec.PlanExecution
		}
		return nil
	}
	instance.Spec.PlanExecution = api.PlanExecution{PlanName: plan, UID: r.NewUID()}
	changed := slices.ContainsFunc(decision.Rows, func(row parameters.Row) bool { return row.Changed })
	if plan == parameters.CleanupPlan && instance.DeletionTimestamp != nil && !changed {
		// The controller asks for it, with the rights of who was last, and for the
		// version and the values that they asked for.
		if _, bound, err := api.BoundTo(instance); bound || err != nil {
			return err
		}
		return api.Bind(instance, version)
	}
	if err := api.SetRequester(instance, r.Requester); err != nil {
		return err
	}
	return api.Bind(instance, version)
}

func refused(format string, args ...any) parameters.Decision {
	return parameters.Decision{Refusals: []parameters.Refusal{{Message: fmt.Sprintf(format, args...)}}}
}
