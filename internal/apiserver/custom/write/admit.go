package write

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/apiserver/pkg/warning"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/rights"
	"holdfast.dev/holdfast/value"
)

// mutate calls mutating admission. Afterwards it restores managed fields that are not valid any more, and removes duplicate owner
// references.
func (r *request) mutate(ctx context.Context, obj, old *object.Object) error {
	operation, oldObj := admission.Create, runtime.Object(nil)
	if old != nil {
		operation, oldObj = admission.Update, old
	}
	if mutation, ok := r.Admission.(admission.MutationInterface); ok && mutation.Handles(operation) {
		before, managers := object.Freeze(obj.Object), listIn(obj, "managedFields")
		if err := mutation.Admit(ctx, r.attributes(operation, obj, oldObj), r.Scope); err != nil {
			return err
		}
		before.Check()
		keepValidManagers(ctx, obj, managers)
	}
	removeDuplicateReferences(ctx, obj, handlers.DuplicateOwnerReferencesAfterMutatingAdmissionWarningFormat)
	if r.withoutManagers {
		obj.SetManagedFields(nil)
	}
	return nil
}

// attributes describes the write to admission plugins.
func (r *request) attributes(operation admission.Operation, obj, old runtime.Object) admission.Attributes {
	user, _ := genericapirequest.UserFrom(r.http.Context())
	options := runtime.Object(r.options)
	if operation == admission.Create {
		options = r.createOptions()
	}
	return admission.NewAttributesRecord(obj, old, r.Scope.Kind, r.namespace, r.name, r.Scope.Resource, r.Scope.Subresource,
		operation, options, dryrun.IsDryRun(r.options.DryRun), user)
}

// validatingCreate returns the function that calls validating admission for a new object.
func (r *request) validatingCreate() rest.ValidateObjectFunc {
	return rest.AdmissionToValidateObjectFunc(r.Admission, r.attributes(admission.Create, nil, nil), r.Scope)
}

// validatingUpdate returns the function that calls validating admission for an update.
func (r *request) validatingUpdate() rest.ValidateObjectUpdateFunc {
	return rest.AdmissionToValidateObjectUpdateFunc(r.Admission, r.attributes(admission.Update, nil, nil), r.Scope)
}

// authorizingCreate is validatingCreate for a server-side apply that creates the object. It refuses a client that may
// not create objects.
func (r *request) authorizingCreate() rest.ValidateObjectFunc {
	return rights.Creating(r.http, r.Scope, r.namespace, r.name, r.validatingCreate())
}

// removeDuplicateReferences removes the owner references that an object has twice. It warns in the words of Kubernetes.
func removeDuplicateReferences(ctx context.Context, obj *object.Object, format string) {
	if len(listIn(obj, "ownerReferences")) < 2 {
		return
	}
	var kept []metav1.OwnerReference
	var duplicates []string
	byUID := map[types.UID][]metav1.OwnerReference{}
	for _, owner := range obj.GetOwnerReferences() {
		isSame := func(other metav1.OwnerReference) bool { return apiequality.Semantic.DeepEqual(owner, other) }
		if slices.ContainsFunc(byUID[owner.UID], isSame) {
			duplicates = append(duplicates, string(owner.UID))
			continue
		}
		kept, byUID[owner.UID] = append(kept, owner), append(byUID[owner.UID], owner)
	}
	if len(duplicates) > 0 {
		obj.SetOwnerReferences(kept)
		warning.AddWarning(ctx, "", fmt.Sprintf(format, strings.Join(duplicates, ", ")))
	}
}

// keepValidManagers restores the managed fields that an object had before mutating admission, if admission changed them to
// something invalid.
func keepValidManagers(ctx context.Context, obj *object.Object, before []any) {
	if value.SameList(before, listIn(obj, "managedFields")) {
		return
	}
	err := managedfields.ValidateManagedFields(obj.GetManagedFields())
	if err == nil {
		return
	}
	if metadata, ok := obj.Object["metadata"].(map[string]any); ok {
		metadata["managedFields"] = before
	}
	warning.AddWarning(ctx, "", fmt.Sprintf(fieldmanager.InvalidManagedFieldsAfterMutatingAdmissionWarningFormat, err.Error()))
}

// listIn returns a list in the metadata of an object.
func listIn(obj *object.Object, key string) []any {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	list, _ := metadata[key].([]any)
	return list
}

// NewAdmission wraps admission plugins. They get custom resources as Unstructured objects, and their annotations go to the audit log. A
// plugin may replace top-level fields of an object and fields of its metadata. It changes nothing below them in place: copies of an
// object share these values.
func NewAdmission(plugins admission.Interface) admission.Interface {
	return admission.WithAudit(chain{plugins})
}

type chain struct{ plugins admission.Interface }

var (
	_ admission.MutationInterface   = chain{}
	_ admission.ValidationInterface = chain{}
)

// Handles implements admission.Interface.
func (c chain) Handles(operation admission.Operation) bool {
	return c.plugins != nil && c.plugins.Handles(operation)
}

// Admit implements admission.MutationInterface.
func (c chain) Admit(ctx context.Context, a admission.Attributes, interfaces admission.ObjectInterfaces) error {
	plugins, ok := c.plugins.(admission.MutationInterface)
	if !ok {
		return nil
	}
	return plugins.Admit(ctx, newAttributes(a), interfaces)
}

// Validate implements admission.ValidationInterface.
func (c chain) Validate(ctx context.Context, a admission.Attributes, interfaces admission.ObjectInterfaces) error {
	plugins, ok := c.plugins.(admission.ValidationInterface)
	if !ok {
		return nil
	}
	return plugins.Validate(ctx, newAttributes(a), interfaces)
}

// unstructuredAttributes shows the objects of a request to plugins in the type that they know.
type unstructuredAttributes struct {
	admission.Attributes
	obj, oldObj runtime.Object
}

func newAttributes(a admission.Attributes) unstructuredAttributes {
	return unstructuredAttributes{Attributes: a, obj: object.AsUnstructured(a.GetObject()), oldObj: object.AsUnstructured(a.GetOldObject())}
}

// GetObject implements admission.Attributes. If a plugin changes the object, it changes the object of the request.
func (a unstructuredAttributes) GetObject() runtime.Object { return a.obj }

// GetOldObject implements admission.Attributes.
func (a unstructuredAttributes) GetOldObject() runtime.Object { return a.oldObj }
