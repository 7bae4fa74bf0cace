package faults_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

const (
	// agentPod has a file from a ConfigMap, and a token.
	agentPod = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeName: host-1
  containers: [{name: none, image: none}]
  volumes:
  - name: all
    projected:
      sources:
      - configMap: {name: app}
      - serviceAccountToken: {path: token, expirationSeconds: 3600}
`
	configMaps = "/api/v1/namespaces/default/configmaps"
	// agentLife is how long the certificate of the agent is valid. The agent renews it between 5.6 and 6.7 hours after it was issued.
	agentLife = 8 * hour
)

// clockAgent is a node agent whose clock is set.
type clockAgent struct {
	*process
	server *clockServer
	root   string
	// version is the number of the last change of the ConfigMap.
	version int
}

// startAgent issues a credential for a node, starts its agent with a clock, and gives it a pod.
func startAgent(t *testing.T, s *clockServer, offset time.Duration) *clockAgent {
	t.Helper()
	a := &clockAgent{server: s, root: filepath.Join(t.TempDir(), "root")}
	credential := filepath.Join(t.TempDir(), "host-1.kubeconfig")
	issue := exec.Command(filepath.Join(programs, "holdfast"), "kubeconfig", "--kubeconfig", s.kubeconfig(),
		"--node", "host-1", "--duration", agentLife.String(), "--output-file", credential)
	if out, err := issue.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	launchAt(t, func(p *process) {
		a.process = p
		t.Cleanup(p.kill)
	}, offset, "holdfast", "node", "--name", "host-1", "--kubeconfig", credential,
		"--root", a.root, "--secrets-on-disk", "--metrics-address", "")
	if _, err := a.firstLine(); err != nil {
		t.Fatal(err)
	}
	object := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "app"}, "data": map[string]any{"file": "0"},
	}
	if made := s.client.create(t.Context(), configMaps, object); made.err != nil {
		t.Fatal(made.err)
	}
	pod := yamltest.Map(t, agentPod)
	// The controllers create the service account of the pod.
	waittest.Until(t, "the server creates the pod", func() error { return s.client.create(t.Context(), "/api/v1/namespaces/default/pods", pod).err })
	return a
}

// setClocks sets the clocks of the server and of the agent, as on one machine.
func (a *clockAgent) setClocks(t *testing.T, offset time.Duration) {
	t.Helper()
	a.server.setClock(t, offset)
	a.setClock(t, offset)
}

// works checks that the agent follows the server: it renews its Lease by its own clock, writes a change to the file, and keeps a token that
// the server accepts.
func (a *clockAgent) works(t *testing.T, offset time.Duration) {
	t.Helper()
	waittest.Until(t, "the agent renews its Lease", func() error { return a.server.renewed(t.Context(), agentLease, offset) })
	a.version++
	want := fmt.Sprint(a.version)
	changed := a.server.client.patch(t.Context(), configMaps+"/app", map[string]any{"data": map[string]any{"file": want}})
	if changed.err != nil {
		t.Fatal(changed.err)
	}
	volume := filepath.Join(a.root, "by-name", "default", "web", "all")
	waittest.Until(t, "the agent updates the volume", func() error {
		if file, err := os.ReadFile(filepath.Join(volume, "file")); err != nil || string(file) != want {
			return fmt.Errorf("the file has %q, not %q: %w", file, want, err)
		}
		token, err := os.ReadFile(filepath.Join(volume, "token"))
		if err != nil {
			return err
		}
		if code := a.server.as(t, string(token)); code != http.StatusOK {
			return fmt.Errorf("the token in the file gets %d", code)
		}
		return nil
	})
	if err := a.server.connect(0, ""); err != nil {
		t.Fatal(err)
	}
}

// begins returns when the client certificate of the agent begins.
func (a *clockAgent) begins() (time.Time, error) {
	file := filepath.Join(a.root, "credential", "client.pem")
	pair, err := tls.LoadX509KeyPair(file, file)
	if err != nil {
		return time.Time{}, err
	}
	return pair.Leaf.NotBefore, nil
}

// TestClockAgent sets the clocks of a server and of a node agent, together and alone, by hours forward and back.
func TestClockAgent(t *testing.T) {
	t.Parallel()
	// The agent finds the server again after a restart.
	_, port, err := net.SplitHostPort(freeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	s := &clockServer{server: newServer(t.TempDir(), "--secure-port", port)}
	if err := s.startAt(t, born); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the server works", func() error { return s.works(t.Context(), 0) })
	a := startAgent(t, s, born)
	a.works(t, born)
	issued, err := a.begins()
	if err != nil {
		t.Fatal(err)
	}

	// The token of an hour has ended, and later it has not begun.
	a.setClocks(t, born+3*hour)
	a.works(t, born+3*hour)
	a.setClocks(t, born+hour)
	a.works(t, born+hour)
	if !long() {
		return
	}

	// The clock of the machine of the agent alone is wrong.
	a.setClock(t, born+4*hour)
	a.works(t, born+4*hour)
	a.setClock(t, born+hour)
	a.works(t, born+hour)

	// The certificate is due, and later the renewed one has not begun.
	a.setClocks(t, born+7*hour)
	waittest.Until(t, "the agent renews its certificate", func() error {
		if begin, err := a.begins(); err != nil || !begin.After(issued) {
			return errors.Join(errors.New("the certificate is not renewed"), err)
		}
		return nil
	})
	a.works(t, born+7*hour)
	a.setClocks(t, born+2*hour)
	waittest.Until(t, "the agent takes its first certificate again", func() error {
		if begin, err := a.begins(); err != nil || !begin.Equal(issued) {
			return errors.Join(errors.New("the agent keeps a certificate that has not begun"), err)
		}
		return nil
	})
	// The agent connects again, with the certificate in its file.
	s.kill()
	if err := s.startAt(t, born+2*hour); err != nil {
		t.Fatal(err)
	}
	a.works(t, born+2*hour)
}
