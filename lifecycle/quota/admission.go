package quota

import (
	"context"
	"errors"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	coreinformers "k8s.io/client-go/informers/core/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
)

// ignored are resources of which nothing is stored, and events, which Kubernetes
// has never counted.
var ignored = map[schema.GroupResource]bool{
	corev1.Resource("bindings"):                                            true,
	corev1.Resource("events"):                                              true,
	{Group: "events.k8s.io", Resource: "events"}:                           true,
	{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"}: true,
}

// Admission is the plugin that charges quotas for what requests use. It has to
// be the last of all: what is charged is meant to be stored.
type Admission struct {
	*admission.Handler
	view       *view
	evaluators map[schema.GroupResource]quotav1.Evaluator

	mu    sync.Mutex
	lines map[string]*line
}

var _ admission.ValidationInterface = &Admission{}

// NewAdmission looks quotas up in the informer and charges them through the
// client.
func NewAdmission(quotas coreinformers.ResourceQuotaInformer, client coreclient.ResourceQuotasGetter) *Admission {
	return &Admission{
		Handler:    admission.NewHandler(admission.Create, admission.Update),
		view:       newView(quotas, client),
		evaluators: evaluators(),
		lines:      map[string]*line{},
	}
}

// Validate implements admission.ValidationInterface.
func (p *Admission) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	resource := a.GetResource().GroupResource()
	// A namespace is not in itself.
	if a.GetNamespace() == "" || resource == corev1.Resource("namespaces") || ignored[resource] {
		return nil
	}
	quotas, err := p.view.known(ctx, a.GetNamespace())
	if err != nil {
		return apierrors.NewInternalError(err)
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
	return p.queue(ctx, &charge{Attributes: a, evaluator: evaluator, done: make(chan struct{})})
}

func (p *Admission) evaluator(resource schema.GroupResource) quotav1.Evaluator {
	if evaluator, ok := p.evaluators[resource]; ok {
		return evaluator
	}
	return generic.NewObjectCountEvaluator(resource, nil, "")
}

// charge is one request that waits for its quotas to be charged.
type charge struct {
	admission.Attributes
	evaluator quotav1.Evaluator
	// done is closed when err is the answer.
	done chan struct{}
	err  error
	// refused says that the answer is no, whatever becomes of the others.
	refused bool
}

// line are the charges to the quotas of one namespace. Whoever has the turn
// settles all that wait, in one write for each quota.
type line struct {
	turn    chan struct{}
	waiting []*charge
	// users are the requests that hold on to the line.
	users int
}

// queue waits until a charge is settled.
func (p *Admission) queue(ctx context.Context, c *charge) error {
	l := p.join(c)
	defer p.leave(l, c)
	for {
		select {
		case <-c.done:
			return c.err
		case l.turn <- struct{}{}:
			p.serve(ctx, l, c.GetNamespace())
		case <-ctx.Done():
			return apierrors.NewTimeoutError("resource quota evaluation timed out", 1)
		}
	}
}

func (p *Admission) join(c *charge) *line {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[c.GetNamespace()]
	if l == nil {
		l = &line{turn: make(chan struct{}, 1)}
		p.lines[c.GetNamespace()] = l
	}
	l.waiting = append(l.waiting, c)
	l.users++
	return l
}

func (p *Admission) leave(l *line, c *charge) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// One that gave up is not charged for.
	l.waiting = slices.DeleteFunc(l.waiting, func(other *charge) bool { return other == c })
	l.users--
	if l.users == 0 {
		delete(p.lines, c.GetNamespace())
	}
}

// serve settles what waits, and gives the turn to the next.
func (p *Admission) serve(ctx context.Context, l *line, namespace string) {
	p.mu.Lock()
	batch := l.waiting
	l.waiting = nil
	p.mu.Unlock()
	for _, c := range batch {
		c.err = apierrors.NewInternalError(errors.New("resource quota evaluation ended early"))
	}
	defer func() {
		for _, c := range batch {
			close(c.done)
		}
		<-l.turn
	}()
	if len(batch) > 0 {
		p.settle(ctx, namespace, batch)
	}
}
