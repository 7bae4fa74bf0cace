package cli

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A place that logs many lines in a second logs the first of them, and later how many were left out. Other
// places log their lines.
func TestRepeatedLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(essential{t.Context(), slog.NewTextHandler(&out, nil), &repeated{}})
		cancelled := func() { log.Error("a client has cancelled its request") }
		for range 1000 {
			cancelled()
		}
		log.Error("the disk is full")
		if got := strings.Count(out.String(), "cancelled"); got != repeatedLines {
			t.Errorf("%d lines of one place, want %d", got, repeatedLines)
		}
		if !strings.Contains(out.String(), "the disk is full") {
			t.Error("the line of another place is missing")
		}
		out.Reset()
		time.Sleep(time.Second)
		cancelled()
		if got := out.String(); !strings.Contains(got, "left out of the log\" lines=980") || !strings.Contains(got, "cancelled") {
			t.Errorf("the log of the next second:\n%s", got)
		}
	})
}

// Lines of klog's unstructured functions are told apart by their text.
func TestRepeatedLinesOfKlog(t *testing.T) {
	var out bytes.Buffer
	lines := klogLines{essential{t.Context(), slog.NewTextHandler(&out, nil), &repeated{}}}
	for range 100 {
		lines.write([]byte("E1116 19:07:35.000000   4711 writers.go:12] unable to write the answer\n"))
	}
	lines.write([]byte("W1116 19:07:35.000000   4711 reflector.go:12] another matter\n"))
	if got := strings.Count(out.String(), "unable"); got != repeatedLines || !strings.Contains(out.String(), "another matter") {
		t.Errorf("%d lines of one text, want %d, in the log:\n%s", got, repeatedLines, out.String())
	}
}
