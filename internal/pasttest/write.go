package pasttest

import (
	"context"
	"fmt"
	"net/http"
)

// write sends a write, unless the controller dies before. It may also die before it has the answer.
func (t transport) write(req *http.Request, object request) (*http.Response, error) {
	p := t.life.proxy
	data, err := body(req)
	if err != nil {
		return nil, err
	}
	path := p.name(req.URL.Path)
	p.trace.setBusy(object.resource)
	p.mu.Lock()
	if t.life.isDead() {
		p.mu.Unlock()
		return nil, errKilled
	}
	if req.Method == http.MethodDelete && object.name != "" && !hasPreconditions(data) && (p.mayDelete == nil || !p.mayDelete(req.URL.Path)) {
		p.violations = append(p.violations, fmt.Sprintf("the controller deletes %s without UID and resourceVersion", path))
	}
	p.writes++
	number := p.writes
	death := p.death(number)
	if death != none {
		p.kills++
	}
	if death == killedBefore || death == killedLate {
		p.trace.add("lost", "write %d: %s %s %s", number, req.Method, path, p.name(readable(data)))
		if death == killedLate {
			p.sendLate(t.next, req, number)
		}
		t.life.kill("before it sends this write")
		p.mu.Unlock()
		return nil, errKilled
	}
	p.mu.Unlock()
	response, err := t.next.RoundTrip(req)
	if err != nil {
		p.trace.add("write", "%d: %s %s %s -> %v", number, req.Method, path, p.name(readable(data)), err)
		return nil, err
	}
	p.trace.add("write", "%d: %s %s %s -> %d", number, req.Method, path, p.name(readable(data)), response.StatusCode)
	if death == killedAfter {
		_ = response.Body.Close()
		p.kill("before it has the answer to this write")
		return nil, errKilled
	}
	return response, nil
}

// death returns how the controller dies at a write, or none. The caller holds the lock.
func (p *proxy) death(number int) string {
	if number == p.faults.killAt {
		return p.faults.perturbation
	}
	if p.faults.is(all) && p.kills < maxKills && p.faults.chance(10, "kill", number) {
		return []string{killedBefore, killedAfter, killedLate}[p.faults.number(3, "death", number)]
	}
	return none
}

// sendLate sends a write of a dead controller some steps later. The caller holds the lock.
func (p *proxy) sendLate(next http.RoundTripper, req *http.Request, number int) {
	// The request has the values of its context, and its body, after the controller has ended.
	late := req.Clone(context.WithoutCancel(req.Context()))
	step := p.step + 1 + int(p.faults.number(3, "late", number))
	p.late.Go(func() {
		p.mu.Lock()
		for p.step < step && !p.finished {
			p.changed.Wait()
		}
		p.mu.Unlock()
		response, err := next.RoundTrip(late)
		if err != nil {
			p.trace.add("late", "write %d -> %v", number, err)
			return
		}
		p.trace.add("late", "write %d -> %d", number, response.StatusCode)
		_ = response.Body.Close()
	})
}

// finish lets the writes that are late go on, and waits for them.
func (p *proxy) finish() {
	p.mu.Lock()
	p.finished = true
	p.changed.Broadcast()
	p.mu.Unlock()
	p.late.Wait()
}

// readable returns the body of a request, if it is text.
func readable(data []byte) string {
	if len(data) == 0 || data[0] != '{' {
		return fmt.Sprintf("(%d bytes)", len(data))
	}
	return string(data)
}
