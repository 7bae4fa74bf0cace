package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/api"
)

// The labels and annotations that an Instance sets on its objects and that do not count when
// another Instance shares an object.
var (
	ownLabels      = []string{api.HeritageLabel, api.OperatorLabel, api.InstanceLabel}
	ownAnnotations = []string{
		api.PlanAnnotation, api.PhaseAnnotation, api.StepAnnotation, api.VersionAnnotation,
		api.OwnerAnnotation, api.OwnerNamesAnnotation,
	}
)

// share prepares a cluster-scoped object that is stored already for its application: it sets
// the owners. It returns a fatal error if the stored object is not of this operator, or if
// other Instances use it and this one would change it when it begins to use it.
func (e *execution) share(ctx context.Context, object target, found *unstructured.Unstructured) error {
	owners := api.Owners(found)
	joins := !slices.Contains(owners, e.instance.UID)
	if joins && !e.ofOperator(found) {
		return e.notOurs(found)
	}
	others, err := e.others(ctx, found)
	if err != nil {
		return err
	}
	if len(others) == 0 {
		return nil // the rendered annotations have the only owner already: this Instance
	}
	annotations := object.GetAnnotations()
	keepKeys(annotations, found.GetAnnotations(), ownAnnotations)
	maps.Copy(annotations, api.OwnerAnnotations(append(others, e.instance)...))
	object.SetAnnotations(annotations)
	labels := object.GetLabels()
	keepKeys(labels, found.GetLabels(), ownLabels)
	object.SetLabels(labels)
	if !joins {
		return nil
	}
	result, err := e.user.apply(ctx, object.Unstructured, metav1.DryRunAll)
	if err != nil {
		return fmt.Errorf("%s: %w", title(found), fatalIfPermanent(err))
	}
	if !alike(found, result) {
		return fatalf("%s is used by other instances of operator %s and would change: instances share what they render alike",
			title(found), e.version.Spec.Operator.Name)
	}
	return nil
}

// ofOperator reports whether a stored cluster-scoped object is of Instances of this operator.
func (e *execution) ofOperator(found *unstructured.Unstructured) bool {
	return len(api.Owners(found)) > 0 && found.GetLabels()[api.OperatorLabel] == e.version.Spec.Operator.Name
}

// keepKeys copies some keys of the stored object to the wanted one, so that Instances that share
// an object do not change it in turn.
func keepKeys(wanted, stored map[string]string, keys []string) {
	for _, key := range keys {
		if value, found := stored[key]; found {
			wanted[key] = value
		}
	}
}

// others returns the Instances that use a stored cluster-scoped object and still exist, without
// this one. An Instance stays among the owners after its deletion.
func (e *execution) others(ctx context.Context, found *unstructured.Unstructured) ([]metav1.Object, error) {
	owners := slices.DeleteFunc(api.Owners(found), func(uid types.UID) bool { return uid == e.instance.UID })
	if len(owners) == 0 {
		return nil, nil
	}
	list, err := e.server.Dynamic.Resource(instances).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var others []metav1.Object
	for i := range list.Items {
		if slices.Contains(owners, list.Items[i].GetUID()) {
			others = append(others, &list.Items[i])
		}
	}
	return others, nil
}

// alike reports whether two forms of an object differ only in what Instances set themselves.
func alike(a, b *unstructured.Unstructured) bool {
	return apiequality.Semantic.DeepEqual(withoutOwn(a), withoutOwn(b))
}

func withoutOwn(object *unstructured.Unstructured) map[string]any {
	plain := object.DeepCopy()
	for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
		unstructured.RemoveNestedField(plain.Object, "metadata", field)
	}
	labels, annotations := plain.GetLabels(), plain.GetAnnotations()
	maps.DeleteFunc(labels, func(name, _ string) bool { return slices.Contains(ownLabels, name) })
	maps.DeleteFunc(annotations, func(name, _ string) bool { return slices.Contains(ownAnnotations, name) })
	plain.SetLabels(labels)
	plain.SetAnnotations(annotations)
	return plain.Object
}

// leave removes the Instance from the owners of a cluster-scoped object that other Instances
// use, and reports whether there are such Instances. The object then stays.
func (e *execution) leave(ctx context.Context, object target, found *unstructured.Unstructured) (shared bool, err error) {
	if found.GetNamespace() != "" {
		return false, nil
	}
	e.clusterScoped.Lock()
	defer e.clusterScoped.Unlock()
	others, err := e.others(ctx, found)
	if err != nil || len(others) == 0 {
		return false, err
	}
	if err := e.tryAsAuthors(ctx, object, removal(found)); err != nil {
		return true, fatalIfPermanent(err)
	}
	if err := e.user.setOwners(ctx, found, others); err != nil {
		return true, fmt.Errorf("%s: %w", title(found), fatalIfPermanent(err))
	}
	return true, nil
}

// setOwners sets the owners of a stored cluster-scoped object, if it has not changed since.
func (w *writer) setOwners(ctx context.Context, found *unstructured.Unstructured, owners []metav1.Object) error {
	resource, err := w.resource(found)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": found.GetResourceVersion(), "annotations": api.OwnerAnnotations(owners...),
	}})
	if err != nil {
		return err
	}
	_, err = resource.Patch(ctx, found.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})
	return err
}

// hasObjects reports whether a stored CustomResourceDefinition has objects, as far as the
// requester can see. What the requester may not list counts as existing.
func (w *writer) hasObjects(ctx context.Context, found *unstructured.Unstructured) (bool, error) {
	for _, kind := range definedBy(found) {
		mapping, err := w.mapping(kind)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return true, err
		}
		list, err := w.client.Resource(mapping.Resource).List(ctx, metav1.ListOptions{Limit: 1})
		if denied(err) {
			return true, nil
		}
		return err != nil || len(list.Items) > 0, err
	}
	return false, nil
}
