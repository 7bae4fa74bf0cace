package faults_test

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"holdfast.dev/holdfast/internal/waittest"
)

// readAll reads all objects from each server, after the last write.
func (h *history) readAll(t *testing.T, servers []*server) {
	t.Helper()
	for i, server := range servers {
		o := operation{verb: "list"}
		waittest.Until(t, "a server lists all objects", func() error {
			from := time.Since(h.begin).Nanoseconds()
			a := o.send(t.Context(), server.client.Load())
			till := time.Since(h.begin).Nanoseconds()
			h.add(porcupine.Operation{ClientId: clients + i, Input: o, Output: o.result(a), Call: from, Return: till}, a)
			return a.err
		})
	}
}

// check fails the test if the model does not accept the history.
func (h *history) check(t *testing.T, model porcupine.Model) {
	t.Helper()
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.endObserved()
	begin := time.Now()
	verdict, info := porcupine.CheckOperationsVerbose(model, h.operations, waittest.Patience)
	pending := 0
	for _, o := range h.operations {
		if o.Output.(result).outcome == open {
			pending++
		}
	}
	t.Logf("%d operations, %d acknowledged writes, %d without an answer: %s after %s",
		len(h.operations), h.acknowledged, pending, verdict, time.Since(begin).Round(time.Millisecond))
	for _, text := range slices.Sorted(maps.Keys(h.errors)) {
		t.Logf("%d times: %s", h.errors[text], text)
	}
	// With many writes without an answer, as on a busy machine, the checker may not come to an end.
	if verdict == porcupine.Illegal || verdict != porcupine.Ok && long() {
		file := filepath.Join(t.ArtifactDir(), "history.html")
		t.Errorf("the history is not linearizable: %s, see %s (%v)", verdict, file, porcupine.VisualizePath(model, info, file))
	}
}

// endObserved ends a write without an answer when the first read that saw its value ended. Without
// that, the checker would try it at all later times too.
func (h *history) endObserved() {
	first := map[string]int64{}
	for _, o := range h.operations {
		for _, c := range o.Output.(result).cells {
			if end, seen := first[c.value]; c.value != "" && (!seen || o.Return < end) {
				first[c.value] = o.Return
			}
		}
	}
	for i, o := range h.operations {
		if end, seen := first[o.Input.(operation).value]; seen && o.Output.(result).outcome == open {
			h.operations[i].Return = min(o.Return, end)
		}
	}
}
