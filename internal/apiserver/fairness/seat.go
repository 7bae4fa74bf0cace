package fairness

import "k8s.io/apiserver/pkg/authentication/user"

// maxUnread is the number of unread answers of one user for which the server waits at a time. It
// bounds the memory that these take.
const maxUnread = 64

// serve executes a request in a seat. inSeat waits for a seat, calls its argument, and gives the seat back
// when this returns; it does not call it if the request is refused. The request gives its seat back
// early if its client does not read the answer.
func (c *control) serve(inSeat func(sit func()), to *answer, from user.Info, execute func()) {
	taken, done, left := make(chan struct{}), make(chan struct{}), make(chan any, 1)
	go func() {
		defer func() { left <- recover() }()
		sat := false
		inSeat(func() {
			sat = true
			close(taken)
			select {
			case <-done:
			case <-to.unread:
			}
		})
		if sat {
			c.awaitReader(to, from, done)
		}
	}()
	select {
	case <-taken:
		func() {
			defer close(done)
			execute()
		}()
	case failure := <-left:
		left <- failure
	}
	if failure := <-left; failure != nil {
		panic(failure)
	}
}

// awaitReader returns when the request has ended. It ends the request if the user has maxUnread
// unread answers already. The limit does not apply to the group system:masters.
func (c *control) awaitReader(to *answer, from user.Info, done <-chan struct{}) {
	select {
	case <-done:
		return
	default:
	}
	if !isExempt(from) {
		if !c.unread.add(from.GetName()) {
			to.abort()
			return
		}
		defer c.unread.remove(from.GetName())
	}
	<-done
}
