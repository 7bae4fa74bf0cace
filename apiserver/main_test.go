package apiserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/apiserver"
	"holdfast.dev/holdfast/apiserver/servertest"
)

// childConfig makes this test binary a server instead: the tests that kill a
// server need one in a process of its own.
const childConfig = "HOLDFAST_TEST_CONFIG"

func TestMain(m *testing.M) {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	if text := os.Getenv(childConfig); text != "" {
		if err := serveChild(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func serveChild(text string) error {
	var config apiserver.Config
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server, err := apiserver.New(ctx, config)
	if err != nil {
		return err
	}
	return server.Run(ctx, func() { fmt.Println("ready") })
}

// child is a server in a process of its own.
type child struct {
	cmd    *exec.Cmd
	config apiserver.Config
}

// startChild starts a server on dir and waits until it is ready.
func startChild(t testing.TB, dir string) *child {
	t.Helper()
	return startChildWith(t, apiserver.Config{DataDir: dir, Kubeconfig: dir + ".kubeconfig"})
}

// startChildWith starts a server and waits until it is ready.
func startChildWith(t testing.TB, config apiserver.Config) *child {
	t.Helper()
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.Command(os.Args[0]), config: config}
	c.cmd.Env = append(os.Environ(), childConfig+"="+string(text))
	var stderr strings.Builder
	c.cmd.Stderr = &stderr
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("server in %s: %q, %v, %s", config.DataDir, line, err, stderr.String())
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return c
}

// kill ends the server without giving it a chance to do anything about it.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

func (c *child) Client(t testing.TB) kubernetes.Interface {
	t.Helper()
	return kubernetes.NewForConfigOrDie(servertest.Config(t, c.config.Kubeconfig))
}

func restClient(config *restclient.Config) (restclient.Interface, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return client.Discovery().RESTClient(), nil
}
