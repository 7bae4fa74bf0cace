package cli_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev/holdfast/internal/cli"
)

// TestProgress checks that a command says that it still works after two seconds, and not before.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for took, want := range map[time.Duration]string{
			1999 * time.Millisecond: "",
			5 * time.Second:         "written: 1 MB (2s)\nwritten: 1 MB (4s)\n",
		} {
			var out bytes.Buffer
			stop := cli.StartProgress(&out, func() string { return "written: 1 MB" })
			time.Sleep(took)
			stop()
			if got := out.String(); got != want {
				t.Errorf("after %s:\n%s\nwant:\n%s", took, got, want)
			}
		}
	})
}
