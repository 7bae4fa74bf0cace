package certificate

import (
	"context"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certificatesinformers "k8s.io/client-go/informers/certificates/v1"
	certificatesclient "k8s.io/client-go/kubernetes/typed/certificates/v1"
	certificateslisters "k8s.io/client-go/listers/certificates/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/reconcile"
)

const (
	firstRetry = 200 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// Authority signs client certificates. *access.Authority implements it.
type Authority interface {
	SignClient(request access.ClientRequest, now time.Time) ([]byte, error)
}

// Signer is the controller that approves renewals of nodes, signs approved requests,
// and deletes old requests.
type Signer struct {
	authority Authority
	approver  Approver
	client    certificatesclient.CertificateSigningRequestInterface
	requests  certificateslisters.CertificateSigningRequestLister
	synced    cache.InformerSynced
	loop      *reconcile.Loop[string]
}

// NewSigner returns a controller that reads requests from the informer and writes them
// with the client. The approver decides which nodes may renew their certificate
// without the approval of an administrator. Call NewSigner before the informer's
// factory starts. Run may be called once.
func NewSigner(
	authority Authority, approver Approver,
	client certificatesclient.CertificateSigningRequestsGetter, informer certificatesinformers.CertificateSigningRequestInformer,
) (*Signer, error) {
	s := &Signer{
		authority: authority, approver: approver, client: client.CertificateSigningRequests(),
		requests: informer.Lister(),
	}
	s.loop = reconcile.New(reconcile.Config[string]{
		Reconcile: s.reconcile, Log: logRetry, FirstRetry: firstRetry, LastRetry: lastRetry,
	})
	enqueue := func(obj any) {
		if csr, ok := obj.(*certificatesv1.CertificateSigningRequest); ok {
			s.loop.Add(csr.Name)
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

// Run signs requests until ctx ends. It returns when its worker has ended.
func (s *Signer) Run(ctx context.Context) { s.loop.Run(ctx, s.synced) }

func logRetry(_ context.Context, name string, err error) {
	klog.ErrorS(err, "certificate signing request is not handled, will be tried again", "certificateSigningRequest", name)
}

// reconcile deletes, approves or signs one request, whichever is due.
func (s *Signer) reconcile(ctx context.Context, name string) (reconcile.Result, error) {
	now := time.Now()
	csr, err := s.requests.Get(name)
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if end := deletionTime(csr, now); !end.After(now) {
		err := s.client.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &csr.UID}})
		if apierrors.IsNotFound(err) {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, err
	}
	renewal, err := Approve(ctx, s.approver, csr)
	if err != nil {
		return reconcile.Result{}, err
	}
	if renewal != nil {
		_, err = s.client.UpdateApproval(ctx, name, renewal, metav1.UpdateOptions{})
		return reconcile.Result{}, err
	}
	if isRenewal(csr) {
		// Not allowed yet. Try again later: the binding that allows it may still be
		// created, and the controller does not watch bindings.
		return reconcile.Result{After: lastRetry}, nil
	}
	signed, err := Sign(s.authority, csr, now)
	if err != nil {
		return reconcile.Result{}, err
	}
	if signed == nil {
		return reconcile.Result{After: deletionTime(csr, now).Sub(now)}, nil
	}
	_, err = s.client.UpdateStatus(ctx, signed, metav1.UpdateOptions{})
	return reconcile.Result{}, err
}

// Sign returns a copy of an approved request with its certificate, or, if Check
// rejects the request, with the condition Failed. It returns nil if the request is not
// approved, is already done, or has a signer that is not in this package.
func Sign(
	authority Authority, csr *certificatesv1.CertificateSigningRequest, now time.Time,
) (*certificatesv1.CertificateSigningRequest, error) {
	if !Known(csr.Spec.SignerName) || len(csr.Status.Certificate) > 0 ||
		!Has(csr, certificatesv1.CertificateApproved) || Has(csr, certificatesv1.CertificateDenied) ||
		Has(csr, certificatesv1.CertificateFailed) {
		return nil, nil
	}
	signed := csr.DeepCopy()
	wanted, refusal := Check(csr.Spec)
	if refusal != nil {
		signed.Status.Conditions = append(signed.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateFailed, Status: corev1.ConditionTrue, Reason: "SignerValidationFailure",
			Message: refusal.Error(), LastUpdateTime: metav1.NewTime(now), LastTransitionTime: metav1.NewTime(now),
		})
		return signed, nil //nolint:nilerr // the condition carries the error
	}
	var err error
	if signed.Status.Certificate, err = authority.SignClient(wanted, now); err != nil {
		return nil, err
	}
	return signed, nil
}

// Has reports whether the condition is there and true.
func Has(csr *certificatesv1.CertificateSigningRequest, condition certificatesv1.RequestConditionType) bool {
	found := find(csr, condition)
	return found != nil && found.Status == corev1.ConditionTrue
}

// find returns the condition, whatever its status, or nil.
func find(
	csr *certificatesv1.CertificateSigningRequest, condition certificatesv1.RequestConditionType,
) *certificatesv1.CertificateSigningRequestCondition {
	for i := range csr.Status.Conditions {
		if csr.Status.Conditions[i].Type == condition {
			return &csr.Status.Conditions[i]
		}
	}
	return nil
}
