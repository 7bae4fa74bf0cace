package policies

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/warning"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/policy"
)

// PluginName is the name of the admission plugin.
const PluginName = "ImmutabilityPolicy"

// plugin is the admission plugin: it validates policies, protects their kind and those of files, and refuses changes of labels after
// which a policy no longer selects an object.
type plugin struct {
	*admission.Handler
	rules *Rules
}

var _ admission.ValidationInterface = plugin{}

// Plugin returns the admission plugin of the rules.
func (r *Rules) Plugin() admission.Interface {
	return plugin{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete), rules: r}
}

// Validate implements admission.ValidationInterface.
func (p plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	resource := a.GetResource().GroupResource()
	if old, isDefinition := a.GetOldObject().(*definition.CustomResourceDefinition); isDefinition {
		if err := protectDefinition(a, old); err != nil {
			return err
		}
	}
	if resource == policy.Policies().GroupResource() {
		if err := p.protectFiles(a); err != nil {
			return err
		}
		if a.GetSubresource() == "" && a.GetOperation() != admission.Delete {
			return p.validate(ctx, a)
		}
		return nil
	}
	if a.GetOperation() != admission.Update || a.GetSubresource() == "scale" {
		return nil
	}
	newMeta, err := meta.Accessor(a.GetObject())
	if err != nil {
		return nil //nolint:nilerr // an object without metadata has no labels
	}
	oldMeta, err := meta.Accessor(a.GetOldObject())
	if err != nil {
		return nil //nolint:nilerr // an object without metadata has no labels
	}
	return p.rules.CheckSelection(ctx, Relabelled{Resource: resource, Kind: a.GetKind().GroupKind(), New: newMeta, Old: oldMeta})
}

// protectDefinition refuses to delete the kind of policies, because all policies would be deleted with it, and refuses changes of its
// spec, and owners, with which it would be deleted. The server itself may write it: it updates it when it starts. Its garbage collector
// may not delete it.
func protectDefinition(a admission.Attributes, old *definition.CustomResourceDefinition) error {
	if old.Name != policy.Policies().GroupResource().String() {
		return nil
	}
	if updated, ok := a.GetObject().(*definition.CustomResourceDefinition); ok {
		isServer := a.GetUserInfo().GetName() == user.APIServerUser
		if isServer || definition.SameSpec(&old.Spec, &updated.Spec) && len(updated.OwnerReferences) == 0 {
			return nil
		}
	}
	return apierrors.NewForbidden(a.GetResource().GroupResource(), old.Name, errors.New("it is built in, and stays as it is"))
}

// protectFiles refuses writes to a policy whose name a file has, and to the annotation of such policies.
func (p plugin) protectFiles(a admission.Attributes) error {
	t := p.rules.current.Load()
	if t == nil || a.GetUserInfo().GetName() == user.APIServerUser {
		return nil
	}
	name, stored := nameOf(a), false
	if old, err := meta.Accessor(a.GetOldObject()); err == nil && a.GetOldObject() != nil {
		stored = !isFromFile(old)
	}
	if file := t.files[name]; file != "" && !(a.GetOperation() == admission.Delete && stored) {
		return admission.NewForbidden(a, fmt.Errorf("the policy is in the file %s of --rules-dir: change the file", file))
	}
	if obj, err := meta.Accessor(a.GetObject()); err == nil && a.GetObject() != nil && isFromFile(obj) && a.GetOperation() == admission.Create {
		return admission.NewForbidden(a, fmt.Errorf("only the server sets the annotation %s", SourceAnnotation))
	}
	return nil
}

// nameOf returns the name of the written object. A create has it in the object.
func nameOf(a admission.Attributes) string {
	if a.GetName() != "" {
		return a.GetName()
	}
	for _, obj := range []runtime.Object{a.GetObject(), a.GetOldObject()} {
		if accessor, err := meta.Accessor(obj); obj != nil && err == nil {
			return accessor.GetName()
		}
	}
	return ""
}

// validate refuses a policy with a wrong rule or selector. A stored policy with one can still be labelled and deleted.
func (p plugin) validate(ctx context.Context, a admission.Attributes) error {
	written, err := decode(a.GetObject())
	if err != nil {
		return err
	}
	old, err := decode(a.GetOldObject())
	if err != nil {
		old = nil // it is stored, and the write replaces it
	}
	if old != nil && reflect.DeepEqual(old.Spec, written.Spec) {
		return nil
	}
	errs := written.Validate()
	compiler := p.rules.compiler.Load()
	if compiler != nil {
		wrong, err := compiler.ConditionErrors(ctx, written)
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		errs = append(errs, wrong...)
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(a.GetKind().GroupKind(), written.Name, errs)
	}
	if compiler == nil {
		return nil
	}
	return warnOfEscapes(ctx, compiler, written, old)
}

// warnOfEscapes warns about ways around the rules of a policy that the stored policy, which may be nil, does not have.
func warnOfEscapes(ctx context.Context, compiler *policy.Compiler, written, old *policy.ImmutabilityPolicy) error {
	found, err := compiler.Escapes(ctx, written)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	var known []string
	if old != nil {
		if known, err = compiler.Escapes(ctx, old); err != nil {
			return apierrors.NewInternalError(err)
		}
	}
	for _, line := range found {
		if !slices.Contains(known, line) {
			warning.AddWarning(ctx, "", line)
		}
	}
	return nil
}

// decode returns the policy of a write, nil if there is none.
func decode(obj runtime.Object) (*policy.ImmutabilityPolicy, error) {
	content, ok := obj.(runtime.Unstructured)
	if !ok || reflect.ValueOf(obj).IsNil() {
		return nil, nil
	}
	return policy.Decode(&unstructured.Unstructured{Object: content.UnstructuredContent()})
}

var _ metav1.Object = &unstructured.Unstructured{}
