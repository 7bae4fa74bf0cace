package guard

import (
	"context"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/operator/api"
)

// Name is what the plugin is called.
const Name = "OperatorPackages"

// Guard is the admission plugin.
type Guard struct {
	*admission.Handler
	versions Versions
}

var (
	_ admission.MutationInterface   = &Guard{}
	_ admission.ValidationInterface = &Guard{}
)

// Versions finds an OperatorVersion, nil if there is none.
type Versions func(ctx context.Context, namespace, name string) (*api.OperatorVersion, error)

// New judges by the OperatorVersions that versions finds.
func New(versions Versions) *Guard {
	return &Guard{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete), versions: versions}
}

// LiveVersions reads from the server itself: who applies an OperatorVersion and
// an Instance of it one after the other gets the Instance judged by it.
func LiveVersions(client dynamic.Interface) Versions {
	resource := client.Resource(api.GroupVersion.WithResource("operatorversions"))
	return func(ctx context.Context, namespace, name string) (*api.OperatorVersion, error) {
		found, err := resource.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		version := &api.OperatorVersion{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, version); err != nil {
			return nil, fmt.Errorf("operator version %s: %w", name, err)
		}
		return version, nil
	}
}

// Admit implements admission.MutationInterface.
func (g *Guard) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetSubresource() != "" || a.GetResource().GroupResource() != api.GroupVersion.WithResource("instances").GroupResource() {
		return nil
	}
	if obj, isObject := a.GetObject().(*unstructured.Unstructured); isObject && !outdated(a) {
		return g.decide(ctx, a, obj)
	}
	return nil
}

// outdated says that a write is about an older object than is stored: the store
// answers that with a conflict, which clients know how to mend.
func outdated(a admission.Attributes) bool {
	obj, hasNew := a.GetObject().(metav1.Object)
	old, hasOld := a.GetOldObject().(metav1.Object)
	return hasNew && hasOld && obj.GetResourceVersion() != "" && obj.GetResourceVersion() != old.GetResourceVersion()
}

// Validate implements admission.ValidationInterface.
func (g *Guard) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetSubresource() != "" {
		return nil
	}
	switch a.GetResource().GroupResource() {
	case api.GroupVersion.WithResource("operatorversions").GroupResource():
		return sameVersion(a)
	case definitions:
		return ownDefinition(a)
	}
	return nil
}

// sameVersion refuses another spec. The marker of the definition does as well;
// it is not there where the definition is not ours.
func sameVersion(a admission.Attributes) error {
	obj, hasNew := a.GetObject().(*unstructured.Unstructured)
	old, hasOld := a.GetOldObject().(*unstructured.Unstructured)
	if !hasNew || !hasOld || apiequality.Semantic.DeepEqual(obj.Object["spec"], old.Object["spec"]) {
		return nil
	}
	return apierrors.NewInvalid(a.GetKind().GroupKind(), a.GetName(), field.ErrorList{
		field.Forbidden(field.NewPath("spec"), "an operator version never changes: a new version is a new object"),
	})
}
