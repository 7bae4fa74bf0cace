package fairness

import (
	"context"
	"slices"
	"sync"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
)

const (
	// maxArriving is the number of bodies that the server receives from one user at a time. It
	// bounds the memory that one user can take with slow bodies.
	maxArriving = 64
	// maxWaiting is the number of requests of one user that wait until they may send their
	// bodies. A busy controller has hundreds of requests under way, and on a busy machine their
	// bodies arrive slowly.
	maxWaiting = 1000
)

// control receives the body of a request before the request takes a seat, and gives the seat back
// if the client does not read the answer. A client that sends its body slowly, or does not read,
// then does not occupy a seat that other clients need.
type control struct {
	flowcontrol.Interface
	unread tally

	// timeout is how long a request waits until it may send its body.
	timeout time.Duration

	mu    sync.Mutex
	users map[string]*arrivals
}

// arrivals are the requests of one user with bodies that have not arrived.
type arrivals struct {
	// turns has an element for each body that arrives now.
	turns chan struct{}
	// count is the number of requests with bodies that arrive or wait.
	count int
}

// NewFlowControl returns a FlowControl that receives bodies as WithBodies prepared them, and knows
// cancelled requests and unread answers from Detach. It leaves everything else to inner.
func NewFlowControl(inner flowcontrol.Interface) flowcontrol.Interface {
	return &control{Interface: inner, unread: newTally(maxUnread), timeout: bodyTimeout, users: map[string]*arrivals{}}
}

// Handle implements flowcontrol.Interface.
func (c *control) Handle(
	ctx context.Context, digest flowcontrol.RequestDigest,
	note func(*flowcontrolv1.FlowSchema, *flowcontrolv1.PriorityLevelConfiguration, string),
	estimate func() fcrequest.WorkEstimate, queueNote fq.QueueNoteFn, execute func(),
) {
	d, b := detachedOf(ctx), bodyOf(ctx)
	d.leave()
	attached, stop := d.attach(ctx)
	defer stop()
	received := b == nil || c.receive(attached, b, digest.User)
	// On HTTP/1, a body that did not arrive in time ends the context of the client. The client
	// still reads the answer.
	if b == nil || !b.isLate() {
		ctx = attached
	}
	if !received || ctx.Err() != nil {
		// The filter of upstream answers 429 because execute is not called. It counts
		// the refused request for the priority level that is noted here.
		note(bootstrap.MandatoryFlowSchemaCatchAll, bootstrap.MandatoryPriorityLevelConfigurationCatchAll, digest.User.GetName())
		return
	}
	inSeat := func(sit func()) { c.Interface.Handle(ctx, digest, note, estimate, queueNote, sit) }
	c.serve(inSeat, d.answer, digest.User, execute)
}

// receive receives a body and returns true. While maxArriving bodies of the user arrive, it waits;
// it returns false if that takes too long, or if too many requests of the user wait. The limits do
// not apply to the group system:masters, which is exempt from every other limit too.
func (c *control) receive(ctx context.Context, b *body, from user.Info) bool {
	if isExempt(from) {
		b.receive()
		return true
	}
	of := c.begin(from.GetName())
	if of == nil {
		return false
	}
	defer c.end(from.GetName())
	if !c.takeTurn(ctx, of) {
		return false
	}
	defer func() { <-of.turns }()
	b.receive()
	return true
}

func isExempt(from user.Info) bool {
	return slices.Contains(from.GetGroups(), user.SystemPrivilegedGroup)
}

// takeTurn waits until one more body of a user may arrive, and reports whether it may.
func (c *control) takeTurn(ctx context.Context, of *arrivals) bool {
	select {
	case of.turns <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(c.timeout)
	defer timer.Stop()
	select {
	case of.turns <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// begin counts one more request of a user. It returns nil if the user has too many.
func (c *control) begin(name string) *arrivals {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.users[name]
	if of == nil {
		of = &arrivals{turns: make(chan struct{}, maxArriving)}
		c.users[name] = of
	}
	if of.count >= maxArriving+maxWaiting {
		return nil
	}
	of.count++
	return of
}

func (c *control) end(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.users[name]
	if of.count--; of.count == 0 {
		delete(c.users, name)
	}
}
