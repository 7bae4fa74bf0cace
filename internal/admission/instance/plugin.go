package instance

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

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/authorship"
)

// Name is the name under which the admission plugin is registered.
const Name = "OperatorPackages"

// Plugin is the admission plugin of our own server. It is safe for concurrent use.
type Plugin struct {
	*admission.Handler
	judge Judge
}

var (
	_ admission.MutationInterface   = &Plugin{}
	_ admission.ValidationInterface = &Plugin{}
)

// Versions returns an OperatorVersion, nil if there is none.
type Versions func(ctx context.Context, namespace, name string) (*api.OperatorVersion, error)

// NewPlugin returns a Plugin.
func NewPlugin(config Config) *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete), judge: Judge{config}}
}

// LiveVersions returns Versions that read from the server with every call, without a
// cache. A client can therefore create an OperatorVersion and directly afterwards an
// Instance of it.
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

// Admit implements admission.MutationInterface: it completes or refuses Instances.
func (p *Plugin) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetSubresource() != "" || a.GetResource().GroupResource() != instances {
		return nil
	}
	if w, isWrite := writeOf(a); isWrite {
		return p.judge.complete(ctx, w)
	}
	return nil
}

// Validate implements admission.ValidationInterface: it refuses changes of
// OperatorVersions and of the definitions of the three kinds, refuses to delete an
// OperatorVersion in use, and records the users that delete Instances.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetSubresource() != "" {
		return nil
	}
	switch a.GetResource().GroupResource() {
	case instances:
		old, isObject := a.GetOldObject().(*unstructured.Unstructured)
		if isObject && a.GetOperation() == admission.Delete && !a.IsDryRun() {
			return p.judge.recordDeletion(ctx, old, requester(a.GetUserInfo()))
		}
	case versions:
		if old, isObject := a.GetOldObject().(*unstructured.Unstructured); isObject && a.GetOperation() == admission.Delete {
			return p.judge.refuseDeletion(ctx, old, requester(a.GetUserInfo()))
		}
		if w, isWrite := writeOf(a); isWrite {
			return p.judge.refuseSpecChange(w)
		}
	case definitions:
		return protectDefinition(a)
	}
	return nil
}

// writeOf converts the attributes of a create or an update of a custom resource; false
// for a delete, and for a built-in kind.
func writeOf(a admission.Attributes) (Write, bool) {
	obj, isObject := a.GetObject().(*unstructured.Unstructured)
	if !isObject {
		return Write{}, false
	}
	w := Write{
		Kind: a.GetKind().GroupKind(), Resource: a.GetResource().GroupResource(),
		Namespace: a.GetNamespace(), Name: a.GetName(), New: obj, Requester: requester(a.GetUserInfo()),
	}
	if old, hasOld := a.GetOldObject().(*unstructured.Unstructured); hasOld && a.GetOperation() == admission.Update {
		w.Old = old
	}
	return w, true
}

func requester(info user.Info) authorship.User {
	if info == nil {
		return authorship.User{}
	}
	return authorship.User{Username: info.GetName(), UID: info.GetUID(), Groups: info.GetGroups(), Extra: info.GetExtra()}
}
