package live

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"holdfast.dev/holdfast/internal/definition/preview"
	rules "holdfast.dev/holdfast/internal/replacement"
)

// replacement decides whether the server would accept the object as a new one, after it has
// refused the update. A dry run creates it under its own name. The server looks for an object
// with this name after it has validated the new one, so "already exists" means that the new
// object is valid.
func (p *Planner) replacement(ctx context.Context, d *draft) {
	_, err := p.create(d.in, d.in.GetName())
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
	case isUndecided(err):
		d.note("not checked whether the server would accept the new object: %v", err)
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		d.note("a quota has no room for a second object; deleting the old one makes room")
	case isRefusal(err):
		d.refuse(reasonsOf(err, p.mays(ctx, d)))
		return
	default:
		d.fail(err)
		return
	}
	p.lose(ctx, d, d.in.Object)
	d.Kept = p.kept(ctx, d)
}

// kept returns why the server refuses to delete the object, empty if it does not. A dry run asks the server. If the user may not
// delete objects, the rules that the user can read decide.
func (p *Planner) kept(ctx context.Context, d *draft) string {
	helper := resource.NewHelper(d.in.info.Client, d.in.info.Mapping).DryRun(true)
	_, err := helper.DeleteWithOptions(d.in.GetNamespace(), d.in.GetName(), &metav1.DeleteOptions{})
	switch {
	case err == nil || apierrors.IsNotFound(err):
		return ""
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot delete resource "):
		if def, err := p.definition(ctx, d.in); err == nil {
			d.crd = def.CustomResourceDefinition
		}
		return p.keptOffline(ctx, d)
	case isRefusal(err):
		var texts []string
		for _, reason := range reasonsOf(err, p.mays(ctx, d)) {
			texts = append(texts, reason.Message)
		}
		return strings.Join(texts, "; ")
	}
	d.note("not checked whether the server would delete the object: %v", err)
	return ""
}

// lose makes the plan one of replacement, and finds what is lost. updated is the new object, as
// far as it is known without the server.
func (p *Planner) lose(ctx context.Context, d *draft, updated map[string]any) {
	d.Outcome = preview.Replace
	// Under another name the server returns the new object with defaults, and with what
	// admission adds. The name is the only difference.
	if created, err := p.create(d.in, trialName(d.in.GetName())); err == nil {
		if content := contentOf(created); content != nil {
			updated = content
		}
	}
	related, notes := p.family.find(ctx, d.in.info.Object)
	d.Notes = append(d.Notes, notes...)
	d.Loss = preview.Judgement{Old: d.live(), New: updated}.Loss(related)
	if p.Dependents != rules.Collect {
		p.keep(d)
	}
	if d.in.GroupVersionKind().GroupKind() == (runtimeschema.GroupKind{Kind: "PersistentVolumeClaim"}) {
		d.note("if the reclaim policy of the volume is Delete, deleting the claim deletes its data")
	}
}

// create sends a dry run that creates the object under a name.
func (p *Planner) create(in *input, name string) (runtime.Object, error) {
	object := in.DeepCopy()
	object.SetName(name)
	object.SetUID("")
	object.SetResourceVersion("")
	release(object, contentOf(in.info.Object))
	helper := resource.NewHelper(in.info.Client, in.info.Mapping).DryRun(true).WithFieldManager(p.FieldManager)
	return helper.CreateWithOptions(in.GetNamespace(), false, object, &metav1.CreateOptions{})
}

// trialName returns a name of a new object. It is a valid name of most kinds if the given one
// is.
func trialName(name string) string {
	const suffix, limit = "-holdfast-plan", 63
	return strings.TrimRight(name[:min(len(name), limit-len(suffix))], "-.") + suffix
}

// release removes the addresses and ports from a Service that the old one has and its deletion
// releases. The server would refuse to allocate them twice.
func release(object *unstructured.Unstructured, live map[string]any) {
	if object.GroupVersionKind().GroupKind() != (runtimeschema.GroupKind{Kind: "Service"}) {
		return
	}
	address, _, _ := unstructured.NestedString(object.Object, "spec", "clusterIP")
	if old, _, _ := unstructured.NestedString(live, "spec", "clusterIP"); address == old && address != "None" {
		unstructured.RemoveNestedField(object.Object, "spec", "clusterIP")
		unstructured.RemoveNestedField(object.Object, "spec", "clusterIPs")
	}
	used := nodePorts(live)
	ports, _, _ := unstructured.NestedSlice(object.Object, "spec", "ports")
	for _, item := range ports {
		if port, ok := item.(map[string]any); ok && slices.Contains(used, port["nodePort"]) {
			delete(port, "nodePort")
		}
	}
	if len(ports) > 0 {
		// The list was read from the object, so it can be set again.
		_ = unstructured.SetNestedSlice(object.Object, ports, "spec", "ports")
	}
}

// nodePorts returns the node ports of a Service.
func nodePorts(service map[string]any) []any {
	ports, _, _ := unstructured.NestedSlice(service, "spec", "ports")
	var found []any
	for _, item := range ports {
		if port, ok := item.(map[string]any); ok && port["nodePort"] != nil {
			found = append(found, port["nodePort"])
		}
	}
	return found
}
