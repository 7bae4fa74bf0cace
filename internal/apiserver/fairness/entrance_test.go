package fairness

import (
	"context"
	"testing"
	"testing/synctest"
)

// A connection with maxEntering requests in the entrance waits, and other connections do not.
func TestEntrance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEntrance()
		var leaves []func()
		enter := func(connection string) {
			leave, ok := e.enter(t.Context(), connection)
			if !ok {
				t.Fatal("the request does not enter")
			}
			leaves = append(leaves, leave)
		}
		for range maxEntering {
			enter("busy")
		}
		enter("other")

		cancelled, cancel := context.WithCancel(t.Context())
		refused := make(chan bool, 1)
		go func() {
			_, ok := e.enter(cancelled, "busy")
			refused <- !ok
		}()
		entered := make(chan func(), 1)
		go func() {
			leave, _ := e.enter(t.Context(), "busy")
			entered <- leave
		}()
		synctest.Wait()
		if len(refused) > 0 || len(entered) > 0 {
			t.Fatal("a request enters a connection that is full")
		}
		cancel()
		if !<-refused {
			t.Error("a cancelled request enters")
		}
		leaves[0]()
		leaves[0]()
		leave := <-entered
		leave()
		for _, leave := range leaves {
			leave()
		}
		if len(e.lanes) > 0 {
			t.Errorf("%d connections remain after their requests", len(e.lanes))
		}
	})
}

// A request that is cancelled before it enters takes no place.
func TestEntranceOfCancelledRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e := newEntrance()
	for range 10 * maxEntering {
		if _, ok := e.enter(ctx, "connection"); ok {
			t.Fatal("a cancelled request enters")
		}
	}
	if len(e.lanes) > 0 {
		t.Error("the lane of a cancelled request remains")
	}
}
