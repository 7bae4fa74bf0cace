package pasttest

import (
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
	dies := number == p.faults.killAt
	before := p.faults.is(killedBefore)
	if p.faults.is(all) && p.kills < maxKills && p.faults.chance(10, "kill", number) {
		dies, before = true, p.faults.chance(50, "before", number)
	}
	if dies {
		p.kills++
	}
	if dies && before {
		p.trace.add("lost", "write %d: %s %s %s", number, req.Method, path, p.name(readable(data)))
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
	if dies {
		_ = response.Body.Close()
		p.kill("before it has the answer to this write")
		return nil, errKilled
	}
	return response, nil
}

// readable returns the body of a request, if it is text.
func readable(data []byte) string {
	if len(data) == 0 || data[0] != '{' {
		return fmt.Sprintf("(%d bytes)", len(data))
	}
	return string(data)
}
