package live

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubectl/pkg/util"

	"holdfast.dev/holdfast/internal/replacement"
)

// Replacement is an object that must be replaced: the server refuses the update, and accepts a new object.
type Replacement struct {
	// Object is kind and name.
	Object string
	// Kept says why the server refuses to delete the old object, empty if it does not.
	Kept string
	// UID and ResourceVersion are those of the object that the plan is about.
	UID             types.UID
	ResourceVersion string

	in         *input
	dependents []relative
	family     *family
}

// Replacements returns the objects of the last plan that must be replaced, in the order in which they were judged.
func (p *Planner) Replacements() []Replacement {
	var all []Replacement
	for _, d := range p.replaced {
		live := unstructured.Unstructured{Object: d.live()}
		all = append(all, Replacement{
			Object: d.Object, Kept: d.Kept, UID: live.GetUID(), ResourceVersion: live.GetResourceVersion(), in: d.in,
			dependents: d.dependents, family: &p.family,
		})
	}
	return all
}

// Namespace returns the namespace of the object, empty if it has none.
func (r Replacement) Namespace() string { return r.in.GetNamespace() }

// Never returns the reason that no object of this kind is ever replaced, empty if objects of it may be.
func (r Replacement) Never() string {
	return replacement.Never(r.in.info.Mapping.Resource.GroupResource())
}

// Carry is how a replacement is carried out.
type Carry struct {
	FieldManager string
	// AllowDataLoss has the objects, as KIND/NAME, whose data may be lost.
	AllowDataLoss []string
	// Dependents says what becomes of the dependents.
	Dependents replacement.Dependents
	// DryRun does everything but the write.
	DryRun bool
}

// Run sends the replacement to a Holdfast server, which refuses it if the object has changed since the plan. It returns the UID of the new
// object. The new object has the annotation of client-side apply, so that the next apply updates it.
func (r Replacement) Run(ctx context.Context, carry Carry) (types.UID, error) {
	object := r.in.DeepCopy()
	if err := util.CreateApplyAnnotation(object, unstructured.UnstructuredJSONScheme); err != nil {
		return "", fmt.Errorf("%s: %w", r.Object, err)
	}
	object.SetUID(r.UID)
	object.SetResourceVersion(r.ResourceVersion)
	body, err := json.Marshal(object)
	if err != nil {
		return "", fmt.Errorf("%s: %w", r.Object, err)
	}
	put := r.in.info.Client.Put().NamespaceIfScoped(r.in.info.Namespace, r.in.info.Namespaced()).
		Resource(r.in.info.Mapping.Resource.Resource).Name(r.in.GetName()).
		Param("holdfast", "replace").Param("fieldManager", carry.FieldManager).SetHeader("Content-Type", "application/json").Body(body)
	for _, allowed := range carry.AllowDataLoss {
		put = put.Param("allowDataLoss", allowed)
	}
	for name, values := range carry.Dependents.Query() {
		put = put.Param(name, values[0])
	}
	if carry.DryRun {
		put = put.Param("dryRun", "All")
	}
	answer, err := put.Do(ctx).Get()
	if err != nil {
		return "", fmt.Errorf("%s: %w", r.Object, err)
	}
	created := unstructured.Unstructured{Object: contentOf(answer)}
	if created.GetUID() == r.UID {
		return "", fmt.Errorf("%s: the server has updated the object and not replaced it", r.Object)
	}
	return created.GetUID(), nil
}
