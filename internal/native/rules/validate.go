package rules

import (
	"reflect"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Validate validates an object that is to be created. A kind without rules is only validated against its schema. A nil
// object has no errors.
func Validate(obj runtime.Object) field.ErrorList {
	v, ok := structOf(obj)
	if !ok {
		return nil
	}
	r := &report{create: true, claimTemplates: claimTemplatesOf(obj)}
	if object, err := meta.Accessor(obj); err == nil {
		r.add(validateMeta(object, nameRule(obj)))
	}
	r.walk(writeRules().rootNode(v.Type()), v)
	if set, ok := obj.(*appsv1.StatefulSet); ok {
		r.claimSpecs(set)
	}
	return r.errs
}

// claimSpecs checks the claims of a new StatefulSet. They cannot change later.
func (r *report) claimSpecs(set *appsv1.StatefulSet) {
	node := writeRules().lockedNode(reflect.TypeFor[corev1.PersistentVolumeClaimSpec]())
	for i := range set.Spec.VolumeClaimTemplates {
		spec := reflect.ValueOf(&set.Spec.VolumeClaimTemplates[i].Spec).Elem()
		r.under(func() { r.walk(node, spec) }, "spec", "volumeClaimTemplates", i, "spec")
	}
}

// ValidateUpdate validates newObj, which is to replace oldObj. Both have the same Go type. Package
// frozen, not this function, checks which fields may change.
func ValidateUpdate(newObj, oldObj runtime.Object) field.ErrorList {
	v, ok := structOf(newObj)
	if !ok {
		return nil
	}
	r := &report{old: oldObj, claimTemplates: claimTemplatesOf(newObj)}
	r.add(validateMetaUpdate(newObj, oldObj))
	r.walk(writeRules().rootNode(v.Type()), v)
	return r.errs
}

// ValidateStatus validates the status of newObj, which is to replace that of oldObj. It does not validate the spec, which a
// write of the status does not change.
func ValidateStatus(newObj, oldObj runtime.Object) field.ErrorList {
	v, ok := structOf(newObj)
	if !ok {
		return nil
	}
	r := &report{old: oldObj}
	r.add(validateMetaUpdate(newObj, oldObj))
	r.walk(statusWriteRules().rootNode(v.Type()), v)
	return r.errs
}

// structOf returns the struct that obj points to.
func structOf(obj runtime.Object) (reflect.Value, bool) {
	v := reflect.ValueOf(obj)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return reflect.Value{}, false
	}
	return v.Elem(), true
}

// claimTemplatesOf returns the names of the volume claim templates of a StatefulSet. Its pods can mount them like volumes.
func claimTemplatesOf(obj runtime.Object) []string {
	set, ok := obj.(*appsv1.StatefulSet)
	if !ok {
		return nil
	}
	names := make([]string, 0, len(set.Spec.VolumeClaimTemplates))
	for i := range set.Spec.VolumeClaimTemplates {
		names = append(names, set.Spec.VolumeClaimTemplates[i].Name)
	}
	return names
}

func validateMeta(object metav1.Object, name validation.ValidateNameFunc) field.ErrorList {
	// The registry has checked the scope before, so an object with a namespace is of a namespaced kind.
	namespaced := object.GetNamespace() != ""
	errs := validation.ValidateObjectMetaAccessor(object, namespaced, name, field.NewPath("metadata"))
	return append(errs, validateFinalizers(object)...)
}

// validateFinalizers refuses finalizers without a domain, except those of Kubernetes. Some kinds may have any.
func validateFinalizers(object metav1.Object) field.ErrorList {
	switch object.(type) {
	case *corev1.Event, *coordinationv1.Lease, *policyv1.PodDisruptionBudget, *nodev1.RuntimeClass, *apiregistrationv1.APIService,
		*admissionv1.MutatingWebhookConfiguration, *admissionv1.ValidatingWebhookConfiguration,
		*admissionv1.MutatingAdmissionPolicy, *admissionv1.MutatingAdmissionPolicyBinding,
		*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding:
		return nil
	}
	var errs field.ErrorList
	for i, name := range object.GetFinalizers() {
		switch name {
		case string(corev1.FinalizerKubernetes), metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents:
			continue
		}
		if !strings.Contains(name, "/") {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "finalizers").Index(i), name,
				"name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}

func validateMetaUpdate(newObj, oldObj runtime.Object) field.ErrorList {
	newMeta, err := meta.Accessor(newObj)
	if err != nil {
		return nil
	}
	oldMeta, err := meta.Accessor(oldObj)
	if err != nil {
		return nil
	}
	errs := validation.ValidateObjectMetaAccessorUpdate(newMeta, oldMeta, field.NewPath("metadata"))
	return append(errs, validateFinalizers(newMeta)...)
}
