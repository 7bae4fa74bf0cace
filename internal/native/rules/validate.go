package rules

import (
	"reflect"
	"slices"

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

	"holdfast.dev/holdfast/internal/native"
)

// Validate validates an object that is to be created. A kind without rules is only validated against its schema. A nil
// object has no errors.
func Validate(obj runtime.Object) field.ErrorList {
	v, ok := structOf(checkedForm(obj))
	if !ok {
		return nil
	}
	r := &report{rules: writeRules(), create: true}
	r.walk(r.rules.rootNode(v.Type()), v)
	if set, ok := obj.(*appsv1.StatefulSet); ok {
		r.claimSpecs(set)
	}
	if object, err := meta.Accessor(obj); err == nil && !(metadataLast(obj) && len(r.errs) > 0) {
		r.errs = append(sorted(validateMeta(object, nameRule(obj))), r.errs...)
	}
	return r.errs
}

// metadataLast reports whether Kubernetes validates the metadata of a kind only if it has no other errors.
func metadataLast(obj runtime.Object) bool {
	switch obj.(type) {
	case *corev1.Event, *policyv1.PodDisruptionBudget:
		return true
	}
	return false
}

// claimSpecs checks the claims of a new StatefulSet. They cannot change later.
func (r *report) claimSpecs(set *appsv1.StatefulSet) {
	node := r.rules.lockedNode(reflect.TypeFor[corev1.PersistentVolumeClaimSpec]())
	for i := range set.Spec.VolumeClaimTemplates {
		spec := reflect.ValueOf(&set.Spec.VolumeClaimTemplates[i].Spec).Elem()
		r.under(func() { r.walk(node, spec) }, "spec", "volumeClaimTemplates", i, "spec")
	}
}

// ValidateUpdate validates newObj, which is to replace oldObj. Both have the same Go type. Package
// frozen, not this function, checks which fields may change.
func ValidateUpdate(newObj, oldObj runtime.Object) field.ErrorList {
	v, ok := structOf(checkedForm(newObj))
	if !ok {
		return nil
	}
	r := &report{rules: writeRules(), old: oldObj, oldPod: native.PodSpecOf(oldObj)}
	r.add(validateMetaUpdate(newObj, oldObj))
	r.walk(r.rules.rootNode(v.Type()), v)
	return r.errs
}

// ValidateStatus validates the status of newObj, which is to replace that of oldObj. It does not validate the spec, which a
// write of the status does not change.
func ValidateStatus(newObj, oldObj runtime.Object) field.ErrorList {
	v, ok := structOf(newObj)
	if !ok {
		return nil
	}
	r := &report{rules: statusWriteRules(), old: oldObj}
	r.add(validateMetaUpdate(newObj, oldObj))
	r.walk(r.rules.rootNode(v.Type()), v)
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

// checkedForm returns an object as its rules check it. The controller of a StatefulSet sets the host name of its pods, and
// adds volumes for the volume claim templates, which replace volumes of the same name.
func checkedForm(obj runtime.Object) runtime.Object {
	set, ok := obj.(*appsv1.StatefulSet)
	if !ok || set == nil {
		return obj
	}
	form := *set
	pod := &form.Spec.Template.Spec
	pod.Hostname, pod.Subdomain = "", ""
	pod.Volumes = slices.Clone(pod.Volumes)
	for i := range form.Spec.VolumeClaimTemplates {
		name := form.Spec.VolumeClaimTemplates[i].Name
		source := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}
		volume := corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: source}}
		if at := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == name }); at >= 0 {
			pod.Volumes[at] = volume
			continue
		}
		pod.Volumes = append(pod.Volumes, volume)
	}
	return &form
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
	return wrongFinalizers(object)
}

func wrongFinalizers(object metav1.Object) field.ErrorList {
	var errs field.ErrorList
	for i, name := range object.GetFinalizers() {
		if !isFinalizer(name) {
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
