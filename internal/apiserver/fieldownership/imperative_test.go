package fieldownership_test

import (
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/ownership"
	"holdfast.dev/holdfast/value"
)

// checkImperativeWrites changes applied objects at random, as imperative commands do, and
// applies them again. If apply changes a field back, both writes must have warned about
// it; if not, neither may warn.
func checkImperativeWrites(t *testing.T, l *lab) {
	reverted, kept := 0, 0
	found := []source{
		{manifest: "PodTemplate", seed: 1794819297965157960, stream: 31},                           // retainKeys
		{manifest: "PersistentVolume", seed: 1794823090268573163, stream: 27},                      // claimRef: {}
		{manifest: "ControllerRevision", seed: 1794823450998382811, stream: 4},                     // data: {spec: {}}
		{manifest: "RuntimeClass", seed: 1794823450998382824, stream: 39},                          // scheduling: {tolerations: []}
		{manifest: "HorizontalPodAutoscaler with a window", seed: 1794823450998382856, stream: 14}, // scaleDown: null
		// two owner references with the same UID
		{manifest: "LimitRange", seed: 1794834435685023056, stream: 20, metadata: true},
		{manifest: "IPAddress", seed: 1794850000000906632, stream: 25, metadata: true},
		{manifest: "IPAddress", seed: 1794850000000910728, stream: 9, metadata: true},
		{manifest: "IPAddress", seed: 1794850000000911692, stream: 10, metadata: true},
		{manifest: "IPAddress", seed: 1794850000000913828, stream: 24, metadata: true},
		// fields that the server computes from others
		{manifest: "NetworkPolicy", seed: 1794819297965157929, stream: 25},
		{manifest: "Service", seed: 1794819297965157934, stream: 41},
		{manifest: "Service external name", seed: 1794819297965157924, stream: 43},
		{manifest: "Service headless", seed: 1794823090268573162, stream: 44},
		{manifest: "Service load balancer", seed: 1794819297965157929, stream: 45},
	}
	l.rounds(t, schedule{found, 2}, func(r *round, m *manifest) {
		apply, manager := r.applyAs, "kubectl-client-side-apply"
		if r.IntN(4) == 0 {
			apply, manager = r.applyServerSide, "ci"
		}
		m = r.varied(m, 6)
		r.note("apply as "+manager, m.object)
		if got := apply(r, m, manager); !got.stored() {
			return
		}
		// The second apply settles what the server stores otherwise than it was sent.
		before := apply(r, m, manager)
		if !before.stored() {
			return
		}
		sent, written, ok := r.imperative(m, before.object)
		if !ok {
			return
		}
		again := apply(r, m, manager)
		if !again.stored() {
			return
		}
		if r.compare(m, history{before.object, sent, written, again}) {
			reverted++
		} else {
			kept++
		}
	})
	t.Logf("%d changes were reverted, %d were kept", reverted, kept)
	if reverted == 0 || kept == 0 {
		t.Error("the changes do not vary")
	}
}

// imperative makes a random change to a live object that the server accepts. It returns the object
// that it sent, and the reply.
func (r *round) imperative(m *manifest, live map[string]any) (sent map[string]any, written reply, ok bool) {
	command := pick(r.mutator, []string{"kubectl patch", "kubectl label", "kubectl set image", "kubectl scale", "kubectl rollout pause"})
	for range 20 {
		obj, _ := overlay(runtime.DeepCopyJSON(live), runtime.DeepCopyJSON(m.object)).(map[string]any)
		if m.model == nil || !r.mutate(obj, m.model) || isForController(obj) {
			return nil, reply{}, false
		}
		if text := annotationOf(live); text != "" {
			obj = ownership.WithLastApplied(obj, text)
		}
		got := r.send(r, call{method: http.MethodPut, path: m.path(), command: command, query: managedBy("kubectl-patch"), body: obj})
		if got.stored() && len(changed(m, live, got.object)) > 0 {
			r.note(command, got.object)
			return obj, got, true
		}
	}
	return nil, reply{}, false
}

// history is an object before and after an imperative write, and after the apply that
// followed. sent is what the client sent in the write.
type history struct {
	before, sent   map[string]any
	written, again reply
}

// isComputed says whether the server computed the value of a field both before and after the
// apply. Then no client has set the value that is lost, but maybe another field.
func (h history) isComputed(m *manifest, field string) bool {
	if allocated.MatchString(field) && h.isSent(field) {
		return false
	}
	return isDerived(m, h.written.object, field) && isDerived(m, h.again.object, field)
}

// isSent says whether the client of the imperative write set a field to another value.
func (h history) isSent(field string) bool {
	path, err := ownership.ParsePath(field)
	if err != nil {
		return true
	}
	sent := fieldAt(h.sent, path.Steps())
	return !isZero(sent) && !value.Applied.Equal(sent, fieldAt(h.before, path.Steps()))
}

// compare compares the warnings of an imperative write and of the apply after it with what
// the apply changed. It says whether the apply changed something back.
func (r *round) compare(m *manifest, h history) bool {
	written, again := h.written, h.again
	truth, responsible := changed(m, written.object, again.object), warned{fields: changed(m, h.before, written.object)}
	taken := warned{fields: lost(r, written.object, again.object)}
	for name, lines := range map[string][]string{"the imperative write": written.warnings, "apply": again.warnings} {
		said := read(lines)
		for _, path := range truth {
			isJudged := responsible.covers(path)
			if name == "apply" {
				// A forced server-side apply warns only about fields that it takes from other
				// managers, and not about the server's defaults.
				isJudged = annotationOf(written.object) != "" || taken.covers(path) && !isDefault(m, written.object, path)
			}
			if isJudged && !said.covers(path) && !h.isComputed(m, path) {
				r.fail("apply changed %s, but %s said only %q", path, name, lines)
			}
		}
		for _, path := range said.fields {
			if !(warned{fields: truth}).covers(path) {
				r.fail("apply did not change %s (it changed %q), but %s said %q", path, truth, name, lines)
			}
		}
	}
	return len(truth) > 0
}

// annotationOf returns the last-applied configuration of an object.
func annotationOf(obj map[string]any) string {
	return (&unstructured.Unstructured{Object: obj}).GetAnnotations()[ownership.LastApplied]
}
