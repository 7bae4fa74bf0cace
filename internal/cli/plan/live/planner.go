// Package live makes plans for files and a cluster, for `holdfast diff --plan`.
//
//	planner := &live.Planner{Factory: factory, Options: options}
//	plans, err := planner.Plan(ctx)
//
// The server decides, by dry runs. If the client may not send them, or a webhook does not
// support them, the engines of the server decide with what the cluster has: the definition of
// a custom resource, the immutable fields of a built-in kind, and the ImmutabilityPolicies. The
// plan then has a note. The server also says which rights the user has.
//
// A Planner reads objects and sends dry runs. It changes nothing on the server.
package live

import (
	"context"
	"errors"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/openapi3"
	kubectldiff "k8s.io/kubectl/pkg/cmd/diff"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/scheme"

	"holdfast.dev/holdfast/internal/cli/plan"
	"holdfast.dev/holdfast/internal/definition/preview"
	"holdfast.dev/holdfast/internal/replacement"
)

// Options are the flags of kubectl diff.
type Options struct {
	Files                      resource.FilenameOptions
	Selector, FieldManager     string
	ServerSide, ForceConflicts bool
	// Dependents says what becomes of the dependents of objects that are replaced.
	Dependents replacement.Dependents
}

// Planner makes the plans for files and a cluster.
type Planner struct {
	Options
	Factory cmdutil.Factory

	mapper    meta.RESTMapper
	namespace string
	enforced  bool
	openapi   openapi3.Root
	family    family
	places    places
	overrides overrides
	// defined are the kinds of definitions among the files, with the outcome for the
	// definition. created are the namespaces among the files.
	defined map[runtimeschema.GroupKind]preview.Outcome
	created map[string]bool
	// inputs are the objects of the files.
	inputs []input
	// replaced are the objects that must be replaced, in the order in which they were judged.
	replaced []*draft
}

// Plan returns a plan for each object, in the order of the files.
func (p *Planner) Plan(ctx context.Context) ([]plan.Plan, error) {
	if err := p.open(); err != nil {
		return nil, err
	}
	inputs, err := p.read()
	if err != nil {
		return nil, err
	}
	if len(inputs) == 0 {
		return nil, errors.New("there is no object in the files")
	}
	p.inputs = inputs
	p.replaced, p.defined, p.created = nil, map[runtimeschema.GroupKind]preview.Outcome{}, map[string]bool{}
	for _, in := range inputs {
		if kind, ok := kindOf(in.Unstructured); ok {
			p.defined[kind] = preview.Create
		}
		if in.GroupVersionKind().GroupKind() == (runtimeschema.GroupKind{Kind: "Namespace"}) {
			p.created[in.GetName()] = true
		}
	}
	plans := make([]plan.Plan, len(inputs))
	// Definitions come first, because they matter for the objects of their kinds.
	for _, definitions := range []bool{true, false} {
		for i := range inputs {
			kind, isDefinition := kindOf(inputs[i].Unstructured)
			if isDefinition != definitions {
				continue
			}
			plans[i] = p.plan(ctx, &inputs[i])
			if isDefinition {
				p.defined[kind] = plans[i].Outcome
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return plans, nil
}

// open makes the clients.
func (p *Planner) open() error {
	var err error
	if p.mapper, err = p.Factory.ToRESTMapper(); err != nil {
		return err
	}
	if p.namespace, p.enforced, err = p.Factory.ToRawKubeConfigLoader().Namespace(); err != nil {
		return err
	}
	// Without it, the patch of a built-in kind is made from the Go type.
	if client, err := p.Factory.OpenAPIV3Client(); err == nil {
		p.openapi = openapi3.NewRoot(client)
	}
	p.family, err = newFamily(p.Factory)
	return err
}

// plan returns the plan for one object.
func (p *Planner) plan(ctx context.Context, in *input) plan.Plan {
	d := &draft{Plan: plan.Plan{Object: plan.NameOf(in.Object), Namespace: in.GetNamespace()}, in: in}
	p.fill(ctx, d)
	if d.Outcome == preview.Replace {
		p.replaced = append(p.replaced, d)
	}
	place := p.places.find(*in)
	for i := range d.Reasons {
		reason := &d.Reasons[i]
		reason.Object = d.Object
		if place.Document != nil {
			reason.File, reason.Position = place.File, place.Locate(reason.Path)
		}
	}
	return d.Plan
}

// fill finds the object on the server, and decides about it.
func (p *Planner) fill(ctx context.Context, d *draft) {
	err := p.connect(d.in)
	outcome, isDefined := p.defined[d.in.GroupVersionKind().GroupKind()]
	switch {
	case meta.IsNoMatchError(err) && isDefined:
		d.Outcome = preview.Create
		d.note("not checked: the same files create the definition of the kind")
		return
	case err != nil:
		d.fail(err)
		return
	case d.in.GetName() == "":
		d.fail(errors.New("the object has no name, and apply needs one"))
		return
	}
	d.Namespace = d.in.GetNamespace()
	if isDefined && outcome != preview.Unchanged {
		d.note("judged by the definition that the cluster has now: the same files change it")
	}
	err = d.in.info.Get()
	switch {
	case apierrors.IsNotFound(err):
		d.in.info.Object = nil
	case err != nil:
		d.fail(err)
		return
	}
	p.judge(ctx, d)
}

// judge decides about an object by a dry run of apply.
func (p *Planner) judge(ctx context.Context, d *draft) {
	p.overrides.take() // those of another object
	merged, err := kubectldiff.InfoObject{
		LocalObj: d.in.DeepCopy(), Info: d.in.info, Encoder: scheme.DefaultJSONEncoder(), OpenAPIGetter: p.Factory,
		OpenAPIV3Root: p.openapi, Force: true, ServerSideApply: p.ServerSide, FieldManager: p.FieldManager,
		ForceConflicts: p.ForceConflicts, IOStreams: genericiooptions.IOStreams{Out: io.Discard, ErrOut: io.Discard},
	}.Merged()
	isNew := d.live() == nil
	switch {
	case err == nil && isNew:
		d.Outcome = preview.Create
	case err == nil:
		d.compare(contentOf(merged))
		for _, warning := range p.overrides.take() {
			d.Override(warning)
		}
	case isUndecided(err):
		p.offline(ctx, d, err)
	case isNew && apierrors.IsNotFound(err) && p.created[d.Namespace]:
		d.Outcome = preview.Create
		d.note("not checked: the same files create the namespace")
	case !isRefusal(err):
		d.fail(err)
	case isNew, apierrors.IsConflict(err):
		// A conflict is about the resourceVersion of the file or about other owners, and a new object is no answer to it.
		d.refuse(reasonsOf(err, p.mays(ctx, d)))
	default:
		d.Reasons = d.explained(reasonsOf(err, p.mays(ctx, d)))
		p.replacement(ctx, d)
	}
}
