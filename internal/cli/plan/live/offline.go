package live

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/internal/cli/plan"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/preview"
	"holdfast.dev/holdfast/internal/definition/source"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/internal/manifest"
	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/frozen"
	"holdfast.dev/holdfast/internal/native/rules"
)

// offline decides about an object without dry runs, with the engines of the server and with the ImmutabilityPolicies that the user may
// read. It does not know webhooks and admission policies.
func (p *Planner) offline(ctx context.Context, d *draft, why error) {
	d.note("the server did not check this plan: %v", why)
	scheme := native.NewScheme()
	var err error
	if scheme.Recognizes(d.in.GroupVersionKind()) {
		err = p.builtIn(ctx, d, scheme)
	} else {
		err = p.custom(ctx, d)
	}
	if err != nil {
		d.fail(err)
	}
}

// builtIn decides about an object of a built-in kind.
func (p *Planner) builtIn(ctx context.Context, d *draft, scheme *runtime.Scheme) error {
	local := withData(d.in.Unstructured)
	created, err := typed(scheme, local)
	if err != nil {
		return err
	}
	errs := rules.Validate(prepared(created, d.in.GroupVersionKind()))
	live, _ := d.in.info.Object.(*unstructured.Unstructured)
	switch {
	case live == nil && len(errs) > 0:
		d.refuse(reasonsFrom(errs))
		return nil
	case live == nil:
		d.Outcome = preview.Create
		return nil
	}
	oldObj, err := typed(scheme, live)
	if err != nil {
		return err
	}
	merged, err := mergeBuiltIn(local, live, oldObj)
	if err != nil {
		return err
	}
	newObj, err := typed(scheme, merged)
	if err != nil {
		return err
	}
	refusals := reasonsFrom(append(frozen.Check(newObj, oldObj), rules.ValidateUpdate(newObj, oldObj)...))
	refusals = append(refusals, p.checkPolicies(ctx, d, live.Object, merged.Object)...)
	switch {
	case len(refusals) > 0 && len(errs) > 0:
		d.refuse(reasonsFrom(errs))
	case len(refusals) > 0:
		d.Reasons = d.explained(refusals)
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(created)
		if err != nil {
			return err
		}
		p.lose(ctx, d, content)
		d.Kept = p.keptOffline(ctx, d)
	default:
		d.compare(merged.Object)
	}
	return nil
}

// prepared returns a new object with the fields that the server sets before it validates, such as the selector of a Job.
func prepared(obj runtime.Object, gvk schema.GroupVersionKind) runtime.Object {
	obj = obj.DeepCopyObject()
	for _, kind := range native.Kinds() {
		if kind.GroupVersionKind() == gvk && kind.PrepareCreate != nil {
			kind.PrepareCreate(obj)
		}
	}
	if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.ServiceAccountName == "" {
		pod.Spec.ServiceAccountName = "default" // admission sets it
	}
	return obj
}

// reasonsFrom returns the reasons for errors of the engines.
func reasonsFrom(errs field.ErrorList) []finding.Finding {
	var found []finding.Finding
	for _, err := range errs {
		found = append(found, plan.FromError(err))
	}
	return found
}

// custom decides about a custom resource, with the definition that the cluster has.
func (p *Planner) custom(ctx context.Context, d *draft) error {
	def, err := p.definition(ctx, d.in)
	if err != nil {
		return fmt.Errorf("read the definition of %s from the cluster: %w", d.in.GetKind(), err)
	}
	d.crd = def.CustomResourceDefinition
	versions, err := definition.Compile(def.CustomResourceDefinition)
	if err != nil {
		return err
	}
	update := preview.Update{
		Definition: def.CustomResourceDefinition, Versions: versions, Version: d.in.GroupVersionKind().Version,
		Old: d.live(), New: d.in.Object, May: p.mays(ctx, d),
	}
	if live, ok := d.in.info.Object.(*unstructured.Unstructured); ok && live != nil {
		merged, err := mergeCustom(d.in.Unstructured, live)
		if err != nil {
			return err
		}
		update.New = merged.Object
	}
	judgement := update.Judge(ctx)
	// The judgement has asked for the rights, so a change is refused only without one.
	judged := plan.FromJudgement(judgement, manifest.Object{}, func(string) bool { return true })
	d.Outcome, d.Reasons, d.Unchecked = judged.Outcome, judged.Reasons, judged.Unchecked
	d.Notes = append(d.Notes, judged.Notes...)
	if update.Old != nil {
		refusals := p.checkPolicies(ctx, d, judgement.Old, judgement.New)
		if d.Reasons = append(d.Reasons, refusals...); len(refusals) > 0 && (d.Outcome == preview.InPlace || d.Outcome == preview.Unchanged) {
			d.Outcome = preview.Replace
		}
	}
	switch d.Outcome {
	case preview.Replace:
		update.Old, update.New = nil, d.in.Object
		p.lose(ctx, d, update.Judge(ctx).New)
		d.Kept = p.keptOffline(ctx, d)
	case preview.InPlace:
		d.Changes = changes(judgement.Old, judgement.New)
	}
	return nil
}

// definition reads the definition of a custom resource.
func (p *Planner) definition(ctx context.Context, in *input) (*source.Definition, error) {
	client, err := p.Factory.RESTClient()
	if err != nil {
		return nil, err
	}
	apiVersion := definition.GroupName + "/" + definition.V1
	name := in.info.Mapping.Resource.GroupResource().String()
	data, err := client.Get().AbsPath("/apis/"+apiVersion+"/customresourcedefinitions/"+name).
		SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	return source.Decode(manifest.Object{APIVersion: apiVersion, Kind: definition.Kind.Kind, JSON: data})
}
