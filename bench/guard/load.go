package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// load is a number of clients that write ships all the time. Some of their writes must be refused.
type load struct {
	cluster *cluster
	// accepted, refused and unavailable count the outcomes of writes. The guard did not answer those that are unavailable.
	accepted, refused, unavailable, conflicts atomic.Int64
	// counted is the number of accepted increments of spec.count, which all clients share.
	counted atomic.Int64
	// frozen says that a policy forbids to change the colour.
	frozen atomic.Bool

	cancel context.CancelFunc
	done   sync.WaitGroup
	mu     sync.Mutex
	wrong  []error
}

// writers is the number of clients.
const writers = 4

// startLoad creates the ships of the clients and starts the clients.
func startLoad(ctx context.Context, c *cluster) (*load, error) {
	ctx, cancel := context.WithCancel(ctx)
	l := &load{cluster: c, cancel: cancel}
	names := []string{"shared"}
	for i := range writers {
		names = append(names, fmt.Sprintf("load-%d", i))
	}
	for _, name := range names {
		body := fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Ship","metadata":{"name":%q},"spec":{"size":"small","count":0}}`, name)
		if _, err := c.client.Do(ctx, side.Request{Method: http.MethodPost, Path: shipsPath, Body: []byte(body)}); err != nil {
			cancel()
			return nil, err
		}
	}
	for i, name := range names[1:] {
		l.done.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				l.write(ctx, name, n)
			}
		})
	}
	return l, nil
}

// write makes one write of each kind.
func (l *load) write(ctx context.Context, name string, n int) {
	path := shipsPath + "/" + name
	l.legal(ctx, path, fmt.Sprintf(`{"spec":{"replicas":%d}}`, n))
	l.illegal(ctx, path, `{"spec":{"size":"large"}}`)
	l.legal(ctx, path+"/scale", fmt.Sprintf(`{"spec":{"replicas":%d}}`, n+1))
	l.increment(ctx)
	frozen := l.frozen.Load()
	o, err := l.send(ctx, path, fmt.Sprintf(`{"spec":{"colour":"c%d"}}`, n))
	if err == nil && o.accepted && frozen {
		l.fail(fmt.Errorf("%s: the colour was changed after the policy was in force", name))
	}
}

// legal sends a patch that must be accepted, if the guard answers.
func (l *load) legal(ctx context.Context, path, patch string) {
	o, err := l.send(ctx, path, patch)
	switch {
	case err != nil || l.isUndecided(o):
	case o.accepted:
		l.accepted.Add(1)
	default:
		l.fail(fmt.Errorf("refused: %s %s: %s", path, patch, o))
	}
}

// illegal sends a patch that must be refused, if the guard answers.
func (l *load) illegal(ctx context.Context, path, patch string) {
	o, err := l.send(ctx, path, patch)
	switch {
	case err != nil || l.isUndecided(o):
	case isRefusal(o):
		l.refused.Add(1)
	default:
		l.fail(fmt.Errorf("not refused as it must be: %s %s: %s", path, patch, o))
	}
}

func (l *load) send(ctx context.Context, path, body string) (outcome, error) {
	answer, err := l.cluster.client.Do(ctx, side.Request{Method: http.MethodPatch, Path: path, ContentType: mergePatch, Body: []byte(body)})
	return l.outcome(ctx, answer, err)
}

// outcome returns the outcome of a request. An error that is not the end of the load is a failure.
func (l *load) outcome(ctx context.Context, answer []byte, err error) (outcome, error) {
	o, err := outcomeOf(answer, err)
	if err != nil && ctx.Err() == nil {
		l.fail(err)
	}
	return o, err
}

// isUndecided counts a write that failed because the guard did not answer, or because another write was faster.
func (l *load) isUndecided(o outcome) bool {
	switch {
	case isUnavailable(o):
		l.unavailable.Add(1)
	case o.code == http.StatusConflict:
		l.conflicts.Add(1)
	default:
		return false
	}
	return true
}

// increment adds one to the count of the shared ship, and tries again after a conflict.
func (l *load) increment(ctx context.Context) {
	path := shipsPath + "/shared"
	for ctx.Err() == nil {
		ship, err := read(ctx, l.cluster, path)
		if err != nil {
			return
		}
		spec, _ := ship["spec"].(object)
		number, _ := spec["count"].(json.Number)
		count, err := number.Int64()
		if err != nil {
			l.fail(err)
			return
		}
		spec["count"] = count + 1
		body, err := json.Marshal(ship)
		if err != nil {
			l.fail(err)
			return
		}
		// The last write is not cancelled, because it would not be known whether it was stored.
		whole := context.WithoutCancel(ctx)
		answer, err := l.cluster.client.Do(whole, side.Request{Method: http.MethodPut, Path: path, Body: body})
		switch o, err := l.outcome(whole, answer, err); {
		case err != nil:
			return
		case o.accepted:
			l.counted.Add(1)
			return
		case !l.isUndecided(o):
			l.fail(fmt.Errorf("PUT %s: %s", path, o))
			return
		case isUnavailable(o):
			return
		}
	}
}

func (l *load) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, err)
}

// failed returns what went wrong until now.
func (l *load) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.wrong[:min(len(l.wrong), 5)]...)
}

// works waits until the clients have made more writes that were accepted, and more that were refused.
func (l *load) works(ctx context.Context) error {
	accepted, refused := l.accepted.Load(), l.refused.Load()
	for end := time.Now().Add(time.Minute); l.accepted.Load() < accepted+20 || l.refused.Load() < refused+10; {
		switch {
		case l.failed() != nil:
			return l.failed()
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(end):
			return fmt.Errorf("the guard does not answer again: %s", l)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil
}

func (l *load) String() string {
	return fmt.Sprintf("%d accepted, %d refused, %d without an answer of the guard, %d conflicts",
		l.accepted.Load(), l.refused.Load(), l.unavailable.Load(), l.conflicts.Load())
}

// stop ends the clients, and returns an error if a write was decided wrongly or got lost.
func (l *load) stop(ctx context.Context) error {
	l.cancel()
	l.done.Wait()
	if err := l.failed(); err != nil {
		return err
	}
	ship, err := read(ctx, l.cluster, shipsPath+"/shared")
	if err != nil {
		return err
	}
	spec, _ := ship["spec"].(object)
	if want := fmt.Sprint(l.counted.Load()); fmt.Sprint(spec["count"]) != want {
		return fmt.Errorf("the shared count is %v, but %s increments were accepted", spec["count"], want)
	}
	return nil
}
