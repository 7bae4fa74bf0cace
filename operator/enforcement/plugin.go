package enforcement

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/operator/api"
)

// Name is what the plugin is called.
const Name = "OperatorPackages"

// Plugin is the admission plugin.
type Plugin struct {
	*admission.Handler
	judge judge
}

var (
	_ admission.MutationInterface   = &Plugin{}
	_ admission.ValidationInterface = &Plugin{}
)

// Versions finds an OperatorVersion, nil if there is none.
type Versions func(ctx context.Context, namespace, name string) (*api.OperatorVersion, error)

// NewPlugin judges by the OperatorVersions that versions finds.
func NewPlugin(versions Versions) *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete), judge: judge{versions}}
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
func (p *Plugin) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetSubresource() != "" || a.GetResource().GroupResource() != instances {
		return nil
	}
	if w, isWrite := written(a); isWrite {
		return p.judge.complete(ctx, w)
	}
	return nil
}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetSubresource() != "" {
		return nil
	}
	switch a.GetResource().GroupResource() {
	case versions:
		if w, isWrite := written(a); isWrite {
			return p.judge.keep(w)
		}
	case definitions:
		return ownDefinition(a)
	}
	return nil
}

// written is the write that admission is asked about; false where an object is
// deleted, or is none of a definition.
func written(a admission.Attributes) (write, bool) {
	obj, isObject := a.GetObject().(*unstructured.Unstructured)
	if !isObject {
		return write{}, false
	}
	w := write{
		kind: a.GetKind().GroupKind(), resource: a.GetResource().GroupResource(),
		namespace: a.GetNamespace(), name: a.GetName(), newObj: obj, requester: requester(a.GetUserInfo()),
	}
	if old, hasOld := a.GetOldObject().(*unstructured.Unstructured); hasOld && a.GetOperation() == admission.Update {
		w.oldObj = old
	}
	return w, true
}

func requester(info user.Info) api.Requester {
	if info == nil {
		return api.Requester{}
	}
	return api.Requester{Username: info.GetName(), UID: info.GetUID(), Groups: info.GetGroups(), Extra: info.GetExtra()}
}
