package upstream_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// server is one of the two servers to which the test sends the same requests.
type server struct {
	t      *testing.T
	name   string
	url    string
	client *http.Client
}

// startServers starts our server and kube-apiserver with its etcd, from the programs in the folder bin of the repository.
func startServers(t *testing.T) (ours, theirs *server) {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	bin, err := filepath.Abs("../../bin")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "holdfast"), "envtest", "--dir", filepath.Join(t.TempDir(), "assets")).Output()
	if err != nil {
		t.Fatalf("holdfast envtest: %v (build bin/holdfast first)", err)
	}
	return startServer(t, "ours", strings.TrimSpace(string(out))), startServer(t, "kube-apiserver", filepath.Join(bin, "peer"))
}

func startServer(t *testing.T, name, assets string) *server {
	t.Helper()
	if _, err := os.Stat(filepath.Join(assets, "kube-apiserver")); err != nil {
		t.Fatalf("%v (make compare WHAT=writes builds the programs)", err)
	}
	environment := &envtest.Environment{BinaryAssetsDirectory: assets}
	config, err := environment.Start()
	if err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Errorf("stop %s: %v", name, err)
		}
	})
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	url, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return &server{t: t, name: name, url: strings.TrimSuffix(url.String(), "/"), client: client}
}

// call is one request.
type call struct {
	method, path, query, media string
	body                       any
}

func (c call) String() string {
	body, _ := json.Marshal(c.body)
	return fmt.Sprintf("%s %s%s %s %s", c.method, c.path, c.query, c.media, body)
}

// reply is the answer to a call.
type reply struct {
	code     int
	warnings []string
	// body is the object, or a Status.
	body manifest
}

func (r reply) accepted() bool { return r.code < http.StatusBadRequest }

func (s *server) send(c call) reply {
	s.t.Helper()
	var body io.Reader
	if c.body != nil {
		text, err := json.Marshal(c.body)
		if err != nil {
			s.t.Fatal(err)
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(s.t.Context(), c.method, s.url+c.path+c.query, body)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json")
	if c.media != "" {
		request.Header.Set("Content-Type", c.media)
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatalf("%s: %s: %v", s.name, c, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatalf("%s: %s: %v", s.name, c, err)
	}
	out := reply{code: response.StatusCode, warnings: response.Header.Values("Warning")}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&out.body); err != nil {
		out.body = manifest{"message": string(text)}
	}
	return out
}
