package apiserver

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/access/certificate"
	"holdfast.dev/holdfast/internal/access/policy"
	"holdfast.dev/holdfast/internal/access/rbac"
	"holdfast.dev/holdfast/internal/admission/scheduling"
	"holdfast.dev/holdfast/internal/apiserver/advertise"
	"holdfast.dev/holdfast/internal/apiserver/fairness"
	"holdfast.dev/holdfast/internal/apiserver/identity"
	"holdfast.dev/holdfast/internal/apiserver/start"
	"holdfast.dev/holdfast/internal/lifecycle"
)

// systemNamespaces are created at the start; clients expect them.
var systemNamespaces = []string{
	metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease,
}

// bootstrap creates the objects that clients expect, starts the controllers that every
// server runs. The publisher is one of them. The channel is closed when the server has
// tried once to create the objects; some writes may have failed. If a write is refused, the start continues, and attemptAll
// retries the write.
func bootstrap(b start.Base, identity identity.Stage, h *start.Hooks, publisher *advertise.Publisher) (<-chan struct{}, error) {
	clients := b.Clients
	aggregation, err := rbac.NewAggregation(clients.Typed.RbacV1(), clients.Informers.Rbac().V1().ClusterRoles())
	if err != nil {
		return nil, fmt.Errorf("aggregated roles: %w", err)
	}
	requests := clients.Informers.Certificates().V1().CertificateSigningRequests()
	signer, err := certificate.NewSigner(identity.ClientSigner(b), identity.Authorizer, clients.Typed.CertificatesV1(), requests)
	if err != nil {
		return nil, fmt.Errorf("certificate signing requests: %w", err)
	}
	if err := h.OnStart("start-informers", func(hook genericapiserver.PostStartHookContext) error {
		clients.Informers.Start(hook.Done())
		return nil
	}); err != nil {
		return nil, err
	}
	levels, err := fairness.New(clients.Typed.FlowcontrolV1(), clients.Informers.Flowcontrol().V1())
	if err != nil {
		return nil, err
	}
	roles := policy.Default()
	if besideControllerManager(b.Config) {
		roles = policy.WithControllers()
	}
	done := make(chan struct{})
	return done, h.OnStart("bootstrap-objects", func(hook genericapiserver.PostStartHookContext) error {
		complete := attemptAll(hook,
			attempt{"namespaces", func(ctx context.Context) error { return createNamespaces(ctx, clients.Typed) }},
			attempt{"priority levels and flow schemas", levels.Create},
			attempt{"priority classes", func(ctx context.Context) error {
				return scheduling.CreateSystemClasses(ctx, clients.Typed.SchedulingV1())
			}},
			attempt{"service range", func(ctx context.Context) error {
				return b.Config.Services.Publish(ctx, clients.Typed.NetworkingV1())
			}},
			attempt{"service kubernetes", func(ctx context.Context) error { return publish(ctx, publisher) }},
			attempt{"cluster roles", func(ctx context.Context) error { return policy.Reconcile(ctx, clients.Typed.RbacV1(), roles) }},
		)
		// Every server runs these controllers, without leader election. They write only
		// what differs. With leader election, a new aggregated role would stay empty until
		// a server is elected.
		go aggregation.Run(hook)
		if b.Config.Controllers.Has(lifecycle.Signing) {
			go signer.Run(hook)
		}
		go publisher.Run(hook)
		go levels.Run(hook)
		close(done)
		return waitForRoles(hook, clients, identity, complete)
	})
}

// waitForRoles waits until the authorizer knows the stored roles, and the aggregated roles
// have their rules. If the roles could not be written, or the rules are not there in time,
// it logs that and waits no longer.
func waitForRoles(ctx context.Context, clients *start.Clients, identity identity.Stage, written bool) error {
	err := wait.PollUntilContextCancel(ctx, readyPoll, true, func(context.Context) (bool, error) { return identity.Roles.HasSynced(), nil })
	if err != nil || !written {
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, readyPoll, startTimeout, true, func(context.Context) (bool, error) {
		return rolesCollected(clients), nil
	})
	if err != nil && ctx.Err() == nil {
		klog.ErrorS(err, "the cluster roles admin, edit and view have no rules yet", "start", "cluster roles")
		return nil
	}
	return err
}

// rolesCollected reports whether the aggregated roles admin, edit and view have their
// rules.
func rolesCollected(clients *start.Clients) bool {
	lister := clients.Informers.Rbac().V1().ClusterRoles().Lister()
	for _, name := range []string{"admin", "edit", "view"} {
		role, err := lister.Get(name)
		// A role that an administrator took out of aggregation keeps its own rules.
		if err != nil || (role.AggregationRule != nil && len(role.Rules) == 0) {
			return false
		}
	}
	return true
}

// publish writes the Service kubernetes. Another server may write it at the same time.
func publish(ctx context.Context, publisher *advertise.Publisher) error {
	raced := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	return retry.OnError(retry.DefaultBackoff, raced, func() error { return publisher.Publish(ctx) })
}

// createNamespaces creates the missing ones of the namespaces that clients expect. Two servers
// on one etcd may do it at the same time.
func createNamespaces(ctx context.Context, client kubernetes.Interface) error {
	var failed []error
	for _, name := range systemNamespaces {
		_, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
			_, err = client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			failed = append(failed, fmt.Errorf("create namespace %s: %w", name, err))
		}
	}
	return errors.Join(failed...)
}
