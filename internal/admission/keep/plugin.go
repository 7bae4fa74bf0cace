package keep

import (
	"context"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/protection"
)

// Name is the name under which the admission plugin is registered.
const Name = "KeptObjects"

// auditKey is the audit annotation of a refused deletion. Its value is the object.
const auditKey = "keep.holdfast.dev/refused"

// Plugin is the admission plugin.
type Plugin struct {
	*admission.Handler
	authorizer authorizer.UnconditionalAuthorizer
	rules      atomic.Pointer[Rules]
	objects    atomic.Pointer[Objects]
}

var _ admission.ValidationInterface = &Plugin{}

// New returns the plugin. a decides on the verb unlock. There are no rules before SetRules.
func New(a authorizer.UnconditionalAuthorizer) *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete), authorizer: a}
}

// SetRules sets the rules "no-delete".
func (p *Plugin) SetRules(rules Rules) { p.rules.Store(&rules) }

// SetObjects sets the source of the objects in namespaces and of definitions. Before, namespaces and definitions cannot be deleted.
func (p *Plugin) SetObjects(objects Objects) { p.objects.Store(&objects) }

func (p *Plugin) currentRules() Rules {
	if rules := p.rules.Load(); rules != nil {
		return *rules
	}
	return noRules{}
}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.IsDryRun() {
		ctx = protection.DryRun(ctx)
	}
	var err error
	switch {
	case a.GetOperation() != admission.Delete:
		if err := p.validateWrite(ctx, a); err != nil {
			return err
		}
		err = p.checkFinalize(ctx, a)
	case a.GetSubresource() != "" || a.GetOldObject() == nil:
		return nil
	default:
		err = p.checkDeletion(ctx, a)
	}
	if IsRefusal(err) {
		protection.Refuse(ctx, protection.KeptObject)
		if a.GetName() != "" { // in a collection, every object would need a key of its own
			_ = a.AddAnnotation(auditKey, a.GetResource().GroupResource().String()+"/"+a.GetName())
		}
	}
	return err
}

// checkDeletion returns a refusal if an object is kept, or if it is a namespace with kept objects. The registry of definitions calls
// CheckDefinition.
func (p *Plugin) checkDeletion(ctx context.Context, a admission.Attributes) error {
	err := p.check(ctx, a.GetResource(), a.GetOldObject(), a.GetUserInfo())
	if err != nil || a.GetResource().GroupResource() != namespaces {
		return err
	}
	return p.checkNamespace(ctx, a.GetOldObject())
}

// CheckObject returns a refusal if an object is kept. The rights of the user in the context lift rules.
func (p *Plugin) CheckObject(ctx context.Context, resource schema.GroupVersionResource, obj runtime.Object) error {
	u, _ := genericapirequest.UserFrom(ctx)
	return p.check(ctx, resource, obj, u)
}

// Validation returns CheckObject for the objects of a resource, as the validation of a deletion.
func (p *Plugin) Validation(resource schema.GroupVersionResource) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error { return p.CheckObject(ctx, resource, obj) }
}

// check returns a refusal if an object is kept. by deletes the object; it is nil for the server.
func (p *Plugin) check(ctx context.Context, resource schema.GroupVersionResource, obj runtime.Object, by user.Info) error {
	object, err := meta.Accessor(obj)
	if err != nil || object.GetDeletionTimestamp() != nil {
		return err
	}
	why, err := p.reasonFor(ctx, resource, obj, by)
	if err != nil || why == nil {
		return err
	}
	return refuse(targetOf(resource.GroupResource(), object), why)
}

// reasonFor returns the reason for which an object is kept, nil if there is none. The value while-objects keeps nothing by itself.
func (p *Plugin) reasonFor(ctx context.Context, resource schema.GroupVersionResource, obj runtime.Object, by user.Info) (*reason, error) {
	if InForce(resource.GroupResource(), obj) == Always {
		object, err := meta.Accessor(obj)
		if err != nil {
			return nil, err
		}
		return byAnnotation(targetOf(resource.GroupResource(), object), Always), nil
	}
	rules := p.currentRules()
	if !rules.Guards(resource.GroupResource()) {
		return nil, nil
	}
	if by != nil && isServer(by) {
		by = nil
	}
	if object, err := meta.Accessor(obj); err != nil || by == nil && inEveryNamespace[target{resource: resource.GroupResource(), name: object.GetName()}] {
		return nil, err // a rule for all ConfigMaps would keep all namespaces
	}
	content, err := toMap(obj)
	if err != nil {
		return nil, err
	}
	rule, err := rules.NoDelete(ctx, Deletion{Resource: resource, Object: content, User: by})
	if err != nil || rule == nil {
		return nil, err
	}
	return byRule(rule), nil
}

// isServer reports whether a user is the server itself, or its controller of operators. They have no verb that lifts a rule.
func isServer(u user.Info) bool {
	return u.GetName() == user.APIServerUser || u.GetName() == authorship.ControllerUser
}
