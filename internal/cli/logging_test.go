package cli_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/cli"
)

// TestLogFormat checks that a refused start is a line in the chosen format, and that a warning
// about a flag is one too.
func TestLogFormat(t *testing.T) {
	var out, errOut bytes.Buffer
	err := cli.Run(t.Context(), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errOut}, []string{
		"serve", "--log-format=json", "--goaway-chance=0.1", "--data-dir", "/dev/null/data", "--secure-port=0",
	})
	if err == nil || err.Error() != "" {
		t.Errorf("the error %v must have no message, because it is logged", err)
	}
	var messages []string
	for line := range strings.Lines(errOut.String()) {
		var record struct{ Time, Level, Msg, Err string }
		if err := json.Unmarshal([]byte(line), &record); err != nil || record.Time == "" {
			t.Errorf("not a record of the log: %s", line)
		}
		messages = append(messages, record.Level+" "+record.Msg)
	}
	want := "INFO server starts\nWARN --goaway-chance has no effect: the server closes no connections to spread clients\n" +
		"ERROR server ends with an error"
	if got := strings.Join(messages, "\n"); got != want {
		t.Errorf("log:\n%s\nwant:\n%s", got, want)
	}
	if _, err := run(t.Context(), "serve", "--log-format=xml"); err == nil || err.Error() != `--log-format "xml": must be text or json` {
		t.Errorf("error %v", err)
	}
}
