package ownershipcheck_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/cli/ownershipcheck"
	"holdfast.dev/holdfast/internal/native/judgement"
	"holdfast.dev/holdfast/ownership"
)

// fixedServer is a server with fixed responses that need not be valid. It keeps the writes
// that reach it.
type fixedServer struct {
	// live is the response to a read, dryRun the response to a dry run.
	live, dryRun string
	stored       []string
}

// RoundTrip implements http.RoundTripper.
func (s *fixedServer) RoundTrip(req *http.Request) (*http.Response, error) {
	body := ""
	switch {
	case req.Method == http.MethodGet && strings.HasPrefix(req.URL.Path, "/apis/"):
		body = s.live
	case req.Method == http.MethodGet:
	case req.URL.Query().Get("dryRun") != "":
		body = s.dryRun
	case req.Method != http.MethodDelete:
		data, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		s.stored = append(s.stored, string(data))
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: req,
	}, nil
}

// FuzzWrite looks for responses and bodies that make the Checker panic, lose a write, send
// it twice, change it, or return too many warnings.
func FuzzWrite(f *testing.F) {
	const owned = `{"apiVersion":"apps/v1","kind":"Deployment",` +
		`"metadata":{"name":"web","annotations":{"` + ownership.LastApplied + `":"{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",` +
		`\"spec\":{\"replicas\":1}}"}},"spec":{"replicas":1}}`
	const other = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":2}}`
	for index := range uint8(len(commands)) {
		f.Add(owned, other, other, index)
		f.Add(`{"metadata":{"annotations":{"`+ownership.LastApplied+`":"[{"}}}`, `{"spec":{"replicas":"x"}}`, `[1]`, index)
		f.Add(`{"metadata":{"managedFields":[{"operation":"Apply","fieldsV1":1}]}}`, `{"metadata":[]}`, `{"metadata":{"annotations":[]}}`, index)
	}
	f.Fuzz(func(t *testing.T, live, dryRun, body string, index uint8) {
		command := commands[int(index)%len(commands)]
		server := &fixedServer{live: live, dryRun: dryRun}
		config := &rest.Config{}
		ownershipcheck.New().Wrap(config)
		client := config.WrapTransport(server)
		if command.method == http.MethodPost {
			send(t, client, command.name, http.MethodDelete, body)
		}
		resp := send(t, client, command.name, command.method, body)
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode == http.StatusUnprocessableEntity && command.name == "holdfast edit" && len(server.stored) == 0 {
			return
		}
		if len(server.stored) != 1 {
			t.Fatalf("sent %d times", len(server.stored))
		}
		if diff := cmp.Diff(withoutAnnotation(body, command.name), withoutAnnotation(server.stored[0], command.name)); diff != "" {
			t.Errorf("sent (-given +sent):\n%s", diff)
		}
		total := 0
		for _, line := range resp.Header.Values("Warning") {
			if total += utf8.RuneCountInString(line); strings.Contains(line, judgement.NoteBroken) {
				t.Error(line)
			}
		}
		if total > 4096 {
			t.Errorf("warnings of %d runes", total)
		}
	})
}

// commands are the commands that write, with the method of their request.
var commands = []struct{ name, method string }{
	{"holdfast patch", http.MethodPatch},
	{"holdfast edit", http.MethodPatch},
	{"holdfast apply", http.MethodPatch},
	{"holdfast replace", http.MethodPut},
	{"holdfast replace", http.MethodPost},
	{"holdfast scale", http.MethodPatch},
}

// send sends a write of a command through the Checker.
func send(t *testing.T, client http.RoundTripper, command, method, body string) *http.Response {
	t.Helper()
	path := "/apis/apps/v1/namespaces/default/deployments/web"
	switch {
	case method == http.MethodPost:
		path = strings.TrimSuffix(path, "/web")
	case command == "holdfast scale":
		path += "/scale"
	}
	target := &url.URL{Scheme: "https", Host: "server", Path: path}
	req, err := http.NewRequestWithContext(t.Context(), method, target.String(), bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Kubectl-Command", command)
	resp, err := client.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// withoutAnnotation returns a body without the annotation that a replace may set.
func withoutAnnotation(body, command string) string {
	var obj map[string]any
	if command != "holdfast replace" || utiljson.Unmarshal([]byte(body), &obj) != nil || obj == nil {
		return body
	}
	if meta, ok := obj["metadata"].(map[string]any); ok {
		annotations, ok := meta["annotations"].(map[string]any)
		delete(annotations, ownership.LastApplied)
		if len(annotations) == 0 && (ok || meta["annotations"] == nil) {
			delete(meta, "annotations")
		}
	}
	text, err := json.Marshal(obj)
	if err != nil {
		return body
	}
	return string(text)
}
