package quota

import (
	"context"
	"errors"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	coreinformers "k8s.io/client-go/informers/core/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/replacement"
)

// ignored are the resources that are not charged: those that the server does not store, and
// events, which Kubernetes does not charge either.
var ignored = map[schema.GroupResource]bool{
	corev1.Resource("bindings"):                                            true,
	corev1.Resource("events"):                                              true,
	{Group: "events.k8s.io", Resource: "events"}:                           true,
	{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"}: true,
}

// Admission is the admission plugin that charges quotas. It has to be the last plugin:
// after another plugin has rejected a request, no quota may be charged for it.
type Admission struct {
	*admission.Handler
	quotas     *quotaCache
	evaluators map[schema.GroupResource]quotav1.Evaluator

	mu sync.Mutex
	// batches holds the waiting charges of each namespace.
	batches map[string]*batch
}

var _ admission.ValidationInterface = &Admission{}

// NewAdmission returns the plugin. It reads quotas from the informer and writes them with
// the client.
func NewAdmission(quotas coreinformers.ResourceQuotaInformer, client coreclient.ResourceQuotasGetter) *Admission {
	return &Admission{
		Handler:    admission.NewHandler(admission.Create, admission.Update),
		quotas:     newQuotaCache(quotas, client),
		evaluators: evaluatorsByKind(),
		batches:    map[string]*batch{},
	}
}

// Validate implements admission.ValidationInterface.
func (p *Admission) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	resource := a.GetResource().GroupResource()
	// In a request for a Namespace, GetNamespace returns its own name.
	if a.GetNamespace() == "" || resource == corev1.Resource("namespaces") || ignored[resource] {
		return nil
	}
	quotas, err := p.quotas.cached(ctx, a.GetNamespace())
	if err != nil {
		return connection.TryAgain(err, resource, "charge")
	}
	if len(quotas) == 0 {
		return nil
	}
	evaluator := p.evaluator(resource)
	if !evaluator.Handles(a) || !slices.ContainsFunc(quotas, func(quota corev1.ResourceQuota) bool {
		return len(evaluator.MatchingResources(quotav1.ResourceNames(quota.Status.Hard))) > 0
	}) {
		return nil
	}
	c := &charge{Attributes: a, evaluator: evaluator, done: make(chan struct{})}
	if swap := replacement.From(ctx); swap != nil && a.GetOperation() == admission.Create && swap.Resource == resource {
		c.replaced = swap.Old
	}
	return p.charge(ctx, c)
}

func (p *Admission) evaluator(resource schema.GroupResource) quotav1.Evaluator {
	if evaluator, ok := p.evaluators[resource]; ok {
		return evaluator
	}
	return generic.NewObjectCountEvaluator(resource, nil, "")
}

// charge is a request that waits until its quotas are charged.
type charge struct {
	admission.Attributes
	evaluator quotav1.Evaluator
	// replaced is the object in place of which the object of the request is created, nil if there is none.
	replaced runtime.Object
	// done is closed when err is final.
	done chan struct{}
	err  error
	// rejected says that err is final even if the rest of the batch is tried again.
	rejected bool
}

// batch holds the charges to the quotas of one namespace. The request that holds the
// lock processes all waiting charges, with one write for each quota.
type batch struct {
	// lock is a mutex that can be waited for in a select statement.
	lock    chan struct{}
	waiting []*charge
	// requests counts the requests that use the batch.
	requests int
}

// charge waits until the charge is processed.
func (p *Admission) charge(ctx context.Context, c *charge) error {
	b := p.join(c)
	defer p.leave(b, c)
	for {
		select {
		case <-c.done:
			return c.err
		case b.lock <- struct{}{}:
			p.process(ctx, b, c.GetNamespace())
		case <-ctx.Done():
			return apierrors.NewTimeoutError("resource quota evaluation timed out", 1)
		}
	}
}

// join adds the charge to the batch of its namespace.
func (p *Admission) join(c *charge) *batch {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.batches[c.GetNamespace()]
	if b == nil {
		b = &batch{lock: make(chan struct{}, 1)}
		p.batches[c.GetNamespace()] = b
	}
	b.waiting = append(b.waiting, c)
	b.requests++
	return b
}

// leave removes the charge from the batch, if it still waits because the request timed
// out. It removes the batch after its last request.
func (p *Admission) leave(b *batch, c *charge) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b.waiting = slices.DeleteFunc(b.waiting, func(other *charge) bool { return other == c })
	b.requests--
	if b.requests == 0 {
		delete(p.batches, c.GetNamespace())
	}
}

// process processes the waiting charges. The caller holds the lock of the batch, which
// process releases.
func (p *Admission) process(ctx context.Context, b *batch, namespace string) {
	p.mu.Lock()
	charges := b.waiting
	b.waiting = nil
	p.mu.Unlock()
	// If chargeAll panics, this is the error of the charges.
	for _, c := range charges {
		c.err = apierrors.NewInternalError(errors.New("resource quota evaluation ended early"))
	}
	defer func() {
		for _, c := range charges {
			close(c.done)
		}
		<-b.lock
	}()
	if len(charges) > 0 {
		p.chargeAll(ctx, namespace, charges)
	}
}
