package node_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/node"
)

// host is a place for an agent, in this process or, to be killed, in one of its
// own.
type host struct {
	config     node.Config
	credential *rest.Config
	process    bool

	agent *agent
	child *exec.Cmd
	said  bytes.Buffer
}

func (h *host) start(t *testing.T, c *cluster) {
	t.Helper()
	if !h.process {
		h.agent = c.startAgentAs(t, h.credential, h.config)
		return
	}
	config := h.config
	config.Name += c.suffix
	config.SecretsOnDisk = true
	text, err := json.Marshal(hostedAgent{
		Host: h.credential.Host, TLS: h.credential.TLSClientConfig,
		Name: config.Name, Root: config.Root, WatchEach: config.WatchEach,
	})
	if err != nil {
		t.Error(err)
		return
	}
	h.child = exec.Command(os.Args[0])
	h.child.Env = append(os.Environ(), childAgent+"="+string(text))
	h.child.Stderr = &h.said
	if err := h.child.Start(); err != nil {
		t.Error(err)
		return
	}
	child := h.child
	t.Cleanup(func() {
		if h.child == child {
			h.stop(t)
		}
	})
}

// stop ends an agent of this process in good order, and kills one of its own.
func (h *host) stop(t *testing.T) {
	t.Helper()
	if !h.process {
		h.agent.stop(t)
		return
	}
	if err := h.child.Process.Kill(); err != nil {
		t.Errorf("the agent of %s ended by itself: %v: %s", h.config.Name, err, h.said.String())
	}
	_ = h.child.Wait()
	h.child = nil
}

// childAgent makes this test binary an agent instead.
const childAgent = "HOLDFAST_TEST_AGENT"

// hostedAgent is what such an agent is told.
type hostedAgent struct {
	Host       string
	TLS        rest.TLSClientConfig
	Name, Root string
	WatchEach  bool
}

func runChildAgent(text string) error {
	var told hostedAgent
	if err := json.Unmarshal([]byte(text), &told); err != nil {
		return err
	}
	client, err := node.Connect(&rest.Config{Host: told.Host, TLSClientConfig: told.TLS}, nil)
	if err != nil {
		return err
	}
	agent, err := node.New(node.Config{Client: client, Name: told.Name, Root: told.Root, WatchEach: told.WatchEach, SecretsOnDisk: true})
	if err != nil {
		return err
	}
	return agent.Run(context.Background())
}
