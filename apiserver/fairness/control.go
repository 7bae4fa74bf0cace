package fairness

import (
	"context"
	"slices"
	"sync"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
)

// maxArriving is the number of bodies that the server receives from one user at a time.
// Bodies of ordinary clients arrive within milliseconds, so this is far more than they
// need, and it bounds the memory that one user can take with slow ones.
const maxArriving = 64

// control receives the body of a request before the request takes a seat. A client that
// sends its body slowly then does not occupy a seat that other clients need.
type control struct {
	flowcontrol.Interface

	mu       sync.Mutex
	arriving map[string]int
}

// NewFlowControl returns a FlowControl that receives bodies as WithBodies prepared them,
// and leaves everything else to inner.
func NewFlowControl(inner flowcontrol.Interface) flowcontrol.Interface {
	return &control{Interface: inner, arriving: map[string]int{}}
}

// Handle implements flowcontrol.Interface.
func (c *control) Handle(
	ctx context.Context, digest flowcontrol.RequestDigest,
	note func(*flowcontrolv1.FlowSchema, *flowcontrolv1.PriorityLevelConfiguration, string),
	estimate func() fcrequest.WorkEstimate, queueNote fq.QueueNoteFn, execute func(),
) {
	if b := bodyOf(ctx); b != nil {
		if !c.receive(b, digest.User) {
			// The filter of upstream answers 429 because execute is not called. It counts
			// the refused request for the priority level that is noted here.
			note(bootstrap.MandatoryFlowSchemaCatchAll, bootstrap.MandatoryPriorityLevelConfigurationCatchAll, digest.User.GetName())
			return
		}
	}
	c.Interface.Handle(ctx, digest, note, estimate, queueNote, execute)
}

// receive receives a body and returns true. If maxArriving bodies of the user are arriving
// already, it returns false. The limit does not apply to the group system:masters, which is
// exempt from every other limit too.
func (c *control) receive(b *body, from user.Info) bool {
	if !slices.Contains(from.GetGroups(), user.SystemPrivilegedGroup) {
		if !c.begin(from.GetName()) {
			return false
		}
		defer c.end(from.GetName())
	}
	b.receive()
	return true
}

// begin reports whether one more body of a user may arrive.
func (c *control) begin(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.arriving[name] >= maxArriving {
		return false
	}
	c.arriving[name]++
	return true
}

func (c *control) end(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.arriving[name]--; c.arriving[name] == 0 {
		delete(c.arriving, name)
	}
}
