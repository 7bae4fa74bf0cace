package node_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/node"
)

// host runs an agent in this process, or in a child process that can be killed.
type host struct {
	config     node.Config
	credential *rest.Config
	process    bool
	// program is the program of the process, this one by default. user is its user, that of this
	// process by default.
	program string
	user    *syscall.Credential

	agent  *agent
	child  *exec.Cmd
	stderr bytes.Buffer
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
	text, err := json.Marshal(childConfig{
		Host: h.credential.Host, TLS: h.credential.TLSClientConfig,
		Name: config.Name, Root: config.Root, WatchEach: config.WatchEach, HooksDir: config.HooksDir, HooksUser: config.HooksUser,
	})
	if err != nil {
		t.Error(err)
		return
	}
	h.child = exec.Command(cmp.Or(h.program, os.Args[0]))
	h.child.SysProcAttr = &syscall.SysProcAttr{Credential: h.user}
	h.child.Env = append(os.Environ(), childAgentEnv+"="+string(text))
	h.child.Stderr = &h.stderr
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

// stop stops an agent of this process and waits for its end. It kills a child process.
func (h *host) stop(t *testing.T) {
	t.Helper()
	if !h.process {
		h.agent.stop(t)
		return
	}
	if err := h.child.Process.Kill(); err != nil {
		t.Errorf("the agent of %s ended by itself: %v: %s", h.config.Name, err, h.stderr.String())
	}
	_ = h.child.Wait()
	h.child = nil
}

// childAgentEnv is the environment variable that turns this test binary into an agent. Its
// value is a childConfig in JSON.
const childAgentEnv = "HOLDFAST_TEST_AGENT"

// childConfig is the configuration of an agent in a child process.
type childConfig struct {
	Host       string
	TLS        rest.TLSClientConfig
	Name, Root string
	WatchEach  bool

	HooksDir, HooksUser string
}

func runChildAgent(text string) error {
	var config childConfig
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return err
	}
	client, err := node.Connect(&rest.Config{Host: config.Host, TLSClientConfig: config.TLS}, nil)
	if err != nil {
		return err
	}
	agent, err := node.New(node.Config{
		Client: client, Name: config.Name, Root: config.Root, WatchEach: config.WatchEach, SecretsOnDisk: true,
		HooksDir: config.HooksDir, HooksUser: config.HooksUser,
	})
	if err != nil {
		return err
	}
	return agent.Run(context.Background())
}
