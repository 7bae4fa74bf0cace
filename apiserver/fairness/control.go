package fairness

import (
	"context"
	"sync"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
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
		user := digest.User.GetName()
		if !c.begin(user) {
			// The filter of upstream answers 429 because execute is not called. It counts
			// the refused request for the priority level that is noted here.
			note(bootstrap.MandatoryFlowSchemaCatchAll, bootstrap.MandatoryPriorityLevelConfigurationCatchAll, user)
			return
		}
		b.receive()
		c.end(user)
	}
	c.Interface.Handle(ctx, digest, note, estimate, queueNote, execute)
}

// begin reports whether one more body of a user may arrive.
func (c *control) begin(user string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.arriving[user] >= maxArriving {
		return false
	}
	c.arriving[user]++
	return true
}

func (c *control) end(user string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.arriving[user]--; c.arriving[user] == 0 {
		delete(c.arriving, user)
	}
}
