package apiserver

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"holdfast.dev/holdfast/access/certificate"
	"holdfast.dev/holdfast/access/policy"
	"holdfast.dev/holdfast/access/rbac"
	"holdfast.dev/holdfast/apiserver/advertise"
)

const readyPoll = 10 * time.Millisecond

// systemNamespaces are there at start, as clients expect.
var systemNamespaces = []string{
	metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease,
}

// addHooks registers what happens once the server listens; it reports ready
// when all of it is done.
func (s *Server) addHooks(clients *clients, roles *rbac.Authorizer, all authorizer.Authorizer) error {
	aggregation, err := rbac.NewAggregation(clients.kube.RbacV1(), clients.informers.Rbac().V1().ClusterRoles())
	if err != nil {
		return fmt.Errorf("aggregated roles: %w", err)
	}
	requests := clients.informers.Certificates().V1().CertificateSigningRequests()
	signer, err := certificate.NewSigner(s.pki.Authority(), all, clients.kube.CertificatesV1(), requests)
	if err != nil {
		return fmt.Errorf("certificate signing requests: %w", err)
	}
	publisher, err := s.newPublisher(clients.kube)
	if err != nil {
		return err
	}
	if err := s.onStart("start-informers", func(hook genericapiserver.PostStartHookContext) error {
		clients.informers.Start(hook.Done())
		return nil
	}); err != nil {
		return err
	}
	return s.onStart("bootstrap-objects", func(hook genericapiserver.PostStartHookContext) error {
		if err := createNamespaces(hook, clients.kube); err != nil {
			return err
		}
		if err := publish(hook, publisher); err != nil {
			return err
		}
		if err := policy.Reconcile(hook, clients.kube.RbacV1()); err != nil {
			return fmt.Errorf("roles that clients expect: %w", err)
		}
		// Every server does this: it writes only what differs, and a replica
		// that waits for a lease would leave a new role empty meanwhile.
		go aggregation.Run(hook)
		go signer.Run(hook)
		go publisher.Run(hook)
		close(s.bootstrapped)
		return wait.PollUntilContextCancel(hook, readyPoll, true, func(context.Context) (bool, error) {
			return roles.HasSynced() && rolesCollected(clients), nil
		})
	})
}

// rolesCollected says that the roles people are bound to have their rules.
func rolesCollected(clients *clients) bool {
	lister := clients.informers.Rbac().V1().ClusterRoles().Lister()
	for _, name := range []string{"admin", "edit", "view"} {
		role, err := lister.Get(name)
		// A role that an administrator took out of aggregation has what it has.
		if err != nil || (role.AggregationRule != nil && len(role.Rules) == 0) {
			return false
		}
	}
	return true
}

// publish writes the Service kubernetes; a replica that was quicker is no error.
func publish(ctx context.Context, publisher *advertise.Publisher) error {
	raced := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	return retry.OnError(retry.DefaultBackoff, raced, func() error { return publisher.Publish(ctx) })
}

// createNamespaces creates the namespaces that clients expect. Two servers on
// one etcd may do it at the same time.
func createNamespaces(ctx context.Context, client kubernetes.Interface) error {
	for _, name := range systemNamespaces {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create namespace %s: %w", name, err)
		}
	}
	return nil
}

// waitReady asks the server itself until it says that it is ready, or until it
// is clear that it never will be.
func (s *Server) waitReady(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(s.loopback)
	if err != nil {
		return err
	}
	diagnose := time.Now().Add(diagnoseAfter)
	return wait.PollUntilContextCancel(ctx, readyPoll, true, func(ctx context.Context) (bool, error) {
		_, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err == nil || time.Now().Before(diagnose) {
			return err == nil, nil
		}
		diagnose = time.Now().Add(diagnoseAfter)
		return false, s.diagnose(ctx)
	})
}
