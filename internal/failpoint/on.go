//go:build failpoints

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// points are the failpoints of the process.
var points = newRegistry()

// Reach marks a step that cannot fail.
func Reach(name string) {
	if err := points.reach(name); err != nil {
		panic(fmt.Sprintf("failpoint %s is armed with an error, and its step cannot fail", name))
	}
}

// Fail marks a step that can fail. Its error is that of the step.
func Fail(name string) error { return points.reach(name) }

// Bound returns a bound of the process, or the one that a test gives it instead.
func Bound[T ~int64](name string, bound T) T {
	instead, err := strconv.ParseInt(points.next(name).text, 10, 64)
	if err != nil {
		return bound
	}
	return T(instead)
}

// Serve arms and serves the failpoints of the process, as its environment says.
func Serve() error {
	for one := range strings.SplitSeq(os.Getenv("HOLDFAST_FAILPOINTS"), ";") {
		if one == "" {
			continue
		}
		name, actions, _ := strings.Cut(one, "=")
		if err := points.arm(name, actions); err != nil {
			return err
		}
	}
	if address := os.Getenv("HOLDFAST_FAILPOINTS_HTTP"); address != "" {
		return points.serve(address)
	}
	return nil
}

// registry has the failpoints of a process by their names.
type registry struct {
	mutex  sync.Mutex
	points map[string]*point
	// kill ends the process.
	kill func(name string)
}

// point is one failpoint.
type point struct {
	count   int
	actions []action
}

func newRegistry() *registry { return &registry{points: map[string]*point{}, kill: killSelf} }

// killSelf ends the process as a crash does: no deferred function runs. It does not return.
func killSelf(name string) {
	_, _ = fmt.Fprintf(os.Stderr, "failpoint panic: %s\n", name)
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {}
}

// get returns a failpoint. The caller holds the mutex.
func (r *registry) get(name string) *point {
	p := r.points[name]
	if p == nil {
		p = &point{}
		r.points[name] = p
	}
	return p
}

// reach counts that the process has reached a failpoint, and carries out its action.
func (r *registry) reach(name string) error {
	switch next := r.next(name); next.kind {
	case kill:
		r.kill(name)
	case wait:
		time.Sleep(next.delay)
	case fail:
		return fmt.Errorf("failpoint %s: %s", name, next.text)
	}
	return nil
}

// next returns the action that is due.
func (r *registry) next(name string) action {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	p := r.get(name)
	p.count++
	for i := range p.actions {
		switch a := &p.actions[i]; {
		case a.times > 0:
			a.times--
			return *a
		case a.times < 0:
			return *a
		}
	}
	return action{}
}

// arm sets the actions of a failpoint.
func (r *registry) arm(name, text string) error {
	actions, err := parse(text)
	if err != nil {
		return fmt.Errorf("failpoint %s: %w", name, err)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	*r.get(name) = point{actions: actions}
	return nil
}

// count returns how often the process has reached a failpoint since it was armed.
func (r *registry) count(name string) int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.get(name).count
}
