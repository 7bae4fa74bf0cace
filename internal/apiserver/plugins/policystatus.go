package plugins

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	admissionapply "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	admissionlisters "k8s.io/client-go/listers/admissionregistration/v1"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/apiserver/start"
	"holdfast.dev/holdfast/internal/reconcile"
)

// policyStatusManager is the field manager of the status of policies. The controller manager of
// Kubernetes uses the same name for the same fields.
const policyStatusManager = "validatingadmissionpolicy-status"

// policyStatus writes the status of ValidatingAdmissionPolicies: the warnings of the type
// checker about their expressions.
type policyStatus struct {
	policies  admissionlisters.ValidatingAdmissionPolicyLister
	client    kubernetes.Interface
	discovery discovery.DiscoveryInterface
}

// RunPolicyStatus writes the status of policies until ctx ends.
func (s Stage) RunPolicyStatus(ctx context.Context, c *start.Clients) {
	policies := c.Informers.Admissionregistration().V1().ValidatingAdmissionPolicies()
	status := policyStatus{
		policies: policies.Lister(), client: c.Typed, discovery: policyClient{c.Typed, s.Documents}.Discovery(),
	}
	loop := reconcile.New(reconcile.Config[string]{Reconcile: status.reconcile})
	enqueue := func(obj any) {
		if policy, ok := obj.(*admissionv1.ValidatingAdmissionPolicy); ok {
			loop.Add(policy.Name)
		}
	}
	registration, err := policies.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) },
	})
	if err != nil {
		klog.ErrorS(err, "the status of admission policies is not written")
		return
	}
	defer func() {
		if err := policies.Informer().RemoveEventHandler(registration); err != nil {
			klog.V(1).InfoS("handler of admission policies stays registered", "err", err)
		}
	}()
	loop.Run(ctx, registration.HasSynced)
}

// reconcile checks the expressions of a policy if its spec has changed since the last check.
func (s policyStatus) reconcile(ctx context.Context, name string) (reconcile.Result, error) {
	policy, err := s.policies.Get(name)
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, nil
	}
	if err != nil || policy.Generation <= policy.Status.ObservedGeneration {
		return reconcile.Result{}, err
	}
	groups, err := restmapper.GetAPIGroupResources(s.discovery)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read the kinds of the server: %w", err)
	}
	checker := validatingpolicy.TypeChecker{
		SchemaResolver: &resolver.ClientDiscoveryResolver{Discovery: s.discovery},
		RestMapper:     restmapper.NewDiscoveryRESTMapper(groups),
	}
	checked := admissionapply.TypeChecking()
	for _, warning := range checker.Check(policy) {
		checked.WithExpressionWarnings(admissionapply.ExpressionWarning().WithFieldRef(warning.FieldRef).WithWarning(warning.Warning))
	}
	status := admissionapply.ValidatingAdmissionPolicyStatus().WithObservedGeneration(policy.Generation).WithTypeChecking(checked)
	_, err = s.client.AdmissionregistrationV1().ValidatingAdmissionPolicies().ApplyStatus(ctx,
		admissionapply.ValidatingAdmissionPolicy(name).WithStatus(status),
		metav1.ApplyOptions{FieldManager: policyStatusManager, Force: true})
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, err
}
