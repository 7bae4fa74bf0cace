package certificate

import (
	"context"
	"fmt"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certificatesinformers "k8s.io/client-go/informers/certificates/v1"
	certificatesclient "k8s.io/client-go/kubernetes/typed/certificates/v1"
	certificateslisters "k8s.io/client-go/listers/certificates/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/access"
)

const (
	firstRetry = 200 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// Authority signs the certificates of clients; *access.Authority does.
type Authority interface {
	SignClient(request access.ClientRequest, now time.Time) ([]byte, error)
}

// Signer signs the requests that were approved, and removes those that are done
// with.
type Signer struct {
	authority Authority
	approver  Approver
	client    certificatesclient.CertificateSigningRequestInterface
	requests  certificateslisters.CertificateSigningRequestLister
	synced    cache.InformerSynced
	queue     workqueue.TypedRateLimitingInterface[string]
}

// NewSigner watches through the informer and writes through the client; the
// approver says which nodes need nobody's approval. It is made before the
// informer's factory starts, and runs once.
func NewSigner(authority Authority, approver Approver, client certificatesclient.CertificateSigningRequestsGetter, informer certificatesinformers.CertificateSigningRequestInformer) (*Signer, error) {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstRetry, lastRetry)
	s := &Signer{
		authority: authority, approver: approver, client: client.CertificateSigningRequests(),
		requests: informer.Lister(), queue: workqueue.NewTypedRateLimitingQueue(limiter),
	}
	enqueue := func(obj any) {
		if csr, ok := obj.(*certificatesv1.CertificateSigningRequest); ok {
			s.queue.Add(csr.Name)
		}
	}
	registration, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch certificate signing requests: %w", err)
	}
	s.synced = registration.HasSynced
	return s, nil
}

// Run works until ctx ends; then everything it started has ended too.
func (s *Signer) Run(ctx context.Context) {
	var working sync.WaitGroup
	defer working.Wait()
	defer s.queue.ShutDown()
	if !cache.WaitForCacheSync(ctx.Done(), s.synced) {
		return
	}
	working.Go(func() {
		for s.next(ctx) {
		}
	})
	<-ctx.Done()
}

func (s *Signer) next(ctx context.Context) bool {
	name, shutdown := s.queue.Get()
	if shutdown {
		return false
	}
	defer s.queue.Done(name)
	again, err := s.reconcile(ctx, name, time.Now())
	switch {
	case ctx.Err() != nil:
	case err != nil:
		// A conflict is the answer to a view that was a moment old.
		if !apierrors.IsConflict(err) {
			klog.ErrorS(err, "will be tried again", "certificateSigningRequest", name)
		}
		s.queue.AddRateLimited(name)
	default:
		s.queue.Forget(name)
		if again > 0 {
			s.queue.AddAfter(name, again)
		}
	}
	return true
}

// reconcile does what is due for one request, and says when to look again.
func (s *Signer) reconcile(ctx context.Context, name string, now time.Time) (time.Duration, error) {
	csr, err := s.requests.Get(name)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if end := endOf(csr, now); !end.After(now) {
		err := s.client.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &csr.UID}})
		if apierrors.IsNotFound(err) {
			return 0, nil
		}
		return 0, err
	}
	renewal, err := Approve(ctx, s.approver, csr)
	if err != nil {
		return 0, err
	}
	if renewal != nil {
		_, err = s.client.UpdateApproval(ctx, name, renewal, metav1.UpdateOptions{})
		return 0, err
	}
	if renews(csr) {
		// The role that allows it may be on its way.
		return lastRetry, nil
	}
	answered, err := Answer(s.authority, csr, now)
	if err != nil {
		return 0, err
	}
	if answered == nil {
		return endOf(csr, now).Sub(now), nil
	}
	_, err = s.client.UpdateStatus(ctx, answered, metav1.UpdateOptions{})
	return 0, err
}

// Answer returns a copy of an approved request with its certificate, or with
// the condition that says why it gets none; nil when nothing is to be done.
func Answer(authority Authority, csr *certificatesv1.CertificateSigningRequest, now time.Time) (*certificatesv1.CertificateSigningRequest, error) {
	if !Known(csr.Spec.SignerName) || len(csr.Status.Certificate) > 0 ||
		!has(csr, certificatesv1.CertificateApproved) || has(csr, certificatesv1.CertificateDenied) || has(csr, certificatesv1.CertificateFailed) {
		return nil, nil
	}
	answered := csr.DeepCopy()
	wanted, refusal := Check(csr.Spec)
	if refusal != nil {
		answered.Status.Conditions = append(answered.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateFailed, Status: corev1.ConditionTrue, Reason: "SignerValidationFailure",
			Message: refusal.Error(), LastUpdateTime: metav1.NewTime(now), LastTransitionTime: metav1.NewTime(now),
		})
		return answered, nil //nolint:nilerr // the refusal is the answer
	}
	signed, err := authority.SignClient(wanted, now)
	if err != nil {
		return nil, err
	}
	answered.Status.Certificate = signed
	return answered, nil
}

func has(csr *certificatesv1.CertificateSigningRequest, condition certificatesv1.RequestConditionType) bool {
	found := find(csr, condition)
	return found != nil && found.Status == corev1.ConditionTrue
}

func find(csr *certificatesv1.CertificateSigningRequest, condition certificatesv1.RequestConditionType) *certificatesv1.CertificateSigningRequestCondition {
	for i := range csr.Status.Conditions {
		if csr.Status.Conditions[i].Type == condition {
			return &csr.Status.Conditions[i]
		}
	}
	return nil
}
