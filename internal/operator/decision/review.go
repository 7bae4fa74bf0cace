package decision

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/parameters"
)

// Review is one write of an Instance, with everything needed to judge it.
type Review struct {
	// Old is the stored Instance, nil for a create.
	Old *api.Instance
	// New is the Instance that the client sent.
	New *api.Instance
	// Requester is the user that makes the write.
	Requester authorship.User
	// Controller is the user name of the operator controller.
	Controller string
	// Keys seal and open the records of requesters and authors.
	Keys *authorship.Keyring
	// Version returns the OperatorVersion with a key, nil if there is none: see
	// Instance.VersionKey.
	Version func(key string) (*api.OperatorVersion, error)
	// MayGet reports whether the requester may get the OperatorVersion with a key. It is
	// called for an OperatorVersion of another namespace; nil allows all of them.
	MayGet func(key string) (bool, error)
	// NewUID returns a UID for a new run of a plan.
	NewUID func() types.UID
}

// Result is the outcome of a Review.
type Result struct {
	// Instance is the Instance to store, nil if the write is refused.
	Instance *api.Instance
	// Decision holds the reasons of a refusal.
	Decision parameters.Decision
}

// Decide judges the write. It returns an error if Version does, if the keys cannot be
// loaded, or if one of our annotations cannot be decoded.
func (r Review) Decide(ctx context.Context) (Result, error) {
	instance := r.New.DeepCopy()
	r.restoreOwn(instance)
	past, err := r.past(ctx)
	if err != nil {
		return Result{}, err
	}
	version, decision, err := r.decide(instance, &past)
	if err != nil || !decision.Accepted() {
		return Result{Decision: decision}, err
	}
	if decision.Values != nil {
		instance.Spec.Parameters = decision.Values
	}
	authors, err := r.authors(ctx, written{instance: instance, version: version, past: past})
	if err != nil {
		return Result{}, err
	}
	if decision.Plan == "" && authors.inherited && !apiequality.Semantic.DeepEqual(past.record.Authors, authors.Authors) {
		decision.Plan = r.failedPlan(version)
	}
	run, err := r.setRun(instance, version, decision)
	if err != nil {
		return Result{}, err
	}
	if err := r.setRecord(ctx, recordInput{instance: instance, past: past, authors: authors, run: run}); err != nil {
		return Result{}, err
	}
	return Result{Instance: instance, Decision: decision}, nil
}

// Judge returns the decision about the write and stores nothing. It needs neither Requester
// nor Keys nor NewUID, so a client can call it before it sends the write.
func (r Review) Judge() (parameters.Decision, error) {
	instance := r.New.DeepCopy()
	r.restoreOwn(instance)
	var p past
	if r.Old != nil {
		var err error
		if p.records, err = api.Records(r.Old); err != nil {
			return parameters.Decision{}, err
		}
		p.history = make([]authorship.Authors, len(p.records))
	}
	_, decision, err := r.decide(instance, &p)
	return decision, err
}

// restoreOwn restores the annotations that admission alone sets, so that a client can
// neither change nor remove them.
func (r Review) restoreOwn(instance *api.Instance) {
	var stored map[string]string
	if r.Old != nil {
		stored = r.Old.Annotations
		// A client may leave these out. The server adds them after admission.
		instance.Namespace, instance.Name, instance.UID = r.Old.Namespace, r.Old.Name, r.Old.UID
	}
	annotations := maps.Clone(instance.Annotations)
	for _, name := range api.AdmissionAnnotations() {
		delete(annotations, name)
		if text, found := stored[name]; found {
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[name] = text
		}
	}
	// These annotations request something with this write only, so they are never stored.
	delete(annotations, api.RollbackAnnotation)
	delete(annotations, api.TakeOverAnnotation)
	instance.Annotations = annotations
}

// decide returns the decision and the OperatorVersion that it is based on, nil if the
// OperatorVersion does not exist.
func (r Review) decide(instance *api.Instance, past *past) (*api.OperatorVersion, parameters.Decision, error) {
	key := instance.VersionKey()
	switch reference := instance.Spec.OperatorVersion; {
	case reference.Name == "":
		return nil, refused("operatorVersion.name is required"), nil
	case strings.Contains(reference.Name+reference.Namespace, "/") && r.uses(instance):
		// The slash separates the namespace from the name in a key.
		return nil, refused("operatorVersion has the name %q and the namespace %q: neither may contain a slash",
			reference.Name, reference.Namespace), nil
	}
	if allowed, err := r.mayUse(instance); err != nil || !allowed {
		return nil, refused("operator version %s is in another namespace: user %q must be allowed to get it there",
			key, r.Requester.Username), err
	}
	to, err := r.Version(key)
	if err != nil {
		return nil, parameters.Decision{}, err
	}
	if to == nil {
		if r.unchanged(instance) {
			// An Instance without its OperatorVersion can still be labelled, and its
			// finalizers can be removed.
			return nil, parameters.Decision{}, nil
		}
		return nil, refused("operator version %s does not exist", key), nil
	}
	var decision parameters.Decision
	switch {
	case r.Old == nil:
		decision = parameters.Install(to.Definitions(), parameters.Request{Wanted: instance.Spec.Parameters})
	case r.Old.VersionKey() == key:
		decision = r.update(instance, to)
	default:
		decision, err = r.change(instance, to, past)
	}
	if err != nil {
		return to, decision, err
	}
	decision, err = r.takeOver(decision, to)
	return to, decision, err
}

// mayUse reports whether the requester may use the OperatorVersion of the Instance. If the
// OperatorVersion is in another namespace, the requester must be allowed to get it.
func (r Review) mayUse(instance *api.Instance) (bool, error) {
	key := instance.VersionKey()
	if r.MayGet == nil || key == instance.Spec.OperatorVersion.Name || r.Requester.IsSystem(r.Controller) || !r.uses(instance) {
		return true, nil
	}
	return r.MayGet(key)
}

// uses reports whether the write can start a run of the OperatorVersion or change the values of
// its parameters. A write that takes values over or passes their authors changes no value, but
// can start the last plan again.
func (r Review) uses(instance *api.Instance) bool {
	_, takesOver := r.New.Annotations[api.TakeOverAnnotation]
	return takesOver || !r.unchanged(instance) ||
		r.New.Annotations[api.InheritedAuthorsAnnotation] != r.Old.Annotations[api.InheritedAuthorsAnnotation]
}

// unchanged reports whether the write is an update that keeps the version and the
// parameters and requests no plan. Such a write needs no OperatorVersion.
func (r Review) unchanged(instance *api.Instance) bool {
	return r.Old != nil && r.Old.VersionKey() == instance.VersionKey() &&
		maps.Equal(r.Old.Spec.Parameters, instance.Spec.Parameters) && r.requestedPlan() == ""
}

// update judges a write that keeps the OperatorVersion.
func (r Review) update(instance *api.Instance, version *api.OperatorVersion) parameters.Decision {
	request := parameters.Request{
		Stored: r.Old.Spec.Parameters, Wanted: instance.Spec.Parameters,
		Plan: r.requestedPlan(), Running: r.Old.RunningPlan(),
	}
	if request.Plan == parameters.CleanupPlan {
		if instance.DeletionTimestamp == nil {
			return refused("plan '%s' runs when the instance is deleted", parameters.CleanupPlan)
		}
		// The cleanup plan replaces any plan that is running.
		request.Running = ""
	}
	if r.cancels() || request.Plan != "" && r.fails() {
		request.Running = ""
	}
	return parameters.Update(version.Definitions(), request)
}

// change judges a write to another OperatorVersion: a rollback if the annotation
// requests it, else an upgrade. An upgrade adds a record of the version that it leaves, unless
// that version never worked: a rollback then goes to the version before. A rollback removes the
// record of its version and all later ones.
func (r Review) change(instance *api.Instance, to *api.OperatorVersion, past *past) (parameters.Decision, error) {
	left, key := r.Old.VersionKey(), instance.VersionKey()
	from, err := r.Version(left)
	if err != nil {
		return parameters.Decision{}, err
	}
	if from == nil {
		return parameters.Decision{Refusals: []parameters.Refusal{{
			Message: fmt.Sprintf("operator version %s, which is installed, does not exist", left),
			Rule:    "the operator version that is installed does not exist",
		}}}, nil
	}
	request := parameters.Request{Stored: r.Old.Spec.Parameters, Wanted: instance.Spec.Parameters, Running: r.Old.RunningPlan()}
	if r.cancels() {
		request.Running = ""
	}
	if r.New.Annotations[api.RollbackAnnotation] == key {
		if restored := past.pop(key); restored != nil {
			request.Recorded = restored
		}
		decision := parameters.Rollback(from.Definitions(), to.Definitions(), request)
		return decision, api.SetRecords(instance, past.records)
	}
	if request.Consented, err = api.ConsentedNames(r.New, key); err != nil {
		return parameters.Decision{}, err
	}
	if worked := r.Old.Status.WorkingVersion; worked == "" || worked == left {
		past.push(api.Record{OperatorVersion: left, Parameters: r.Old.Spec.Parameters})
	}
	return parameters.Upgrade(from.Definitions(), to.Definitions(), request), api.SetRecords(instance, past.records)
}

// requestedPlan returns the plan that the write requests by name, "" for none. A plan
// execution that equals the stored one requests nothing.
func (r Review) requestedPlan() string {
	wanted := r.New.Spec.PlanExecution
	if r.Old != nil && wanted.PlanName == r.Old.Spec.PlanExecution.PlanName && wanted.UID == r.Old.Spec.PlanExecution.UID {
		return ""
	}
	return wanted.PlanName
}

// setRun sets the plan execution of the Instance. If the decision requires a plan, it
// sets a new run and binds it to the content of the OperatorVersion. Otherwise it keeps the
// stored execution, so a client cannot stop a running plan by leaving it out. If the write
// cancels the running plan, the execution has no plan name any more. If no plan is running and
// the client sends no plan name, the sent execution is stored: the controller clears the
// name of an ended plan this way.
func (r Review) setRun(instance *api.Instance, version *api.OperatorVersion, decision parameters.Decision) (run, error) {
	plan := decision.Plan
	if plan == "" && r.cancels() {
		instance.Spec.PlanExecution = api.PlanExecution{UID: r.Old.Spec.PlanExecution.UID, Status: api.FatalError}
		return noRun, nil
	}
	if plan == "" {
		if r.Old.RunningPlan() != "" || instance.Spec.PlanExecution.PlanName != "" {
			instance.Spec.PlanExecution = r.Old.Spec.PlanExecution
		}
		return noRun, nil
	}
	instance.Spec.PlanExecution = api.PlanExecution{PlanName: plan, UID: r.NewUID()}
	changed := slices.ContainsFunc(decision.Rows, func(row parameters.Row) bool { return row.Changed })
	if plan == parameters.CleanupPlan && instance.DeletionTimestamp != nil && !changed {
		// The controller requests this run because the Instance was deleted. The run
		// keeps the binding of the last run.
		if _, bound, err := api.BoundTo(instance); bound || err != nil {
			return deletionRun, err
		}
		return deletionRun, api.Bind(instance, version)
	}
	return requestedRun, api.Bind(instance, version)
}

// refused returns a decision with one reason that names no parameter.
func refused(format string, args ...any) parameters.Decision {
	message := fmt.Sprintf(format, args...)
	return parameters.Decision{Refusals: []parameters.Refusal{{Message: message, Rule: message}}}
}
