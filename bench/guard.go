package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// runGuard is the command "bench guard". It runs the same kubectl commands on our server and on kube-apiserver
// with "holdfast guard serve", and compares their outcomes. Then it kills the guard, starts it again and
// uninstalls it.
func runGuard(ctx context.Context, args []string) error {
	var chosen sides
	flags := flag.NewFlagSet("bench guard", flag.ContinueOnError)
	chosen.register(flags)
	kubectl := flags.String("kubectl", "kubectl", "the kubectl binary")
	examples := flags.String("examples", "../examples", "directory with widgets.yaml and widget.yaml")
	address := flags.String("webhook-address", "127.0.0.1:9443", "address of the guard")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if chosen.peer == "" {
		return errors.New("-peer: required")
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	t := &trial{binary: chosen.holdfast, kubectl: *kubectl, address: *address, dir: dir}
	for name, start := range map[string]side.Side{"ours": side.Holdfast(chosen.holdfast), "peer": side.Peer(chosen.peer)} {
		folder := filepath.Join(dir, name)
		if err := os.Mkdir(folder, 0o755); err != nil {
			return err
		}
		server, err := start.Start(folder)
		if err != nil {
			return err
		}
		defer server.Stop()
		if err := server.WriteKubeconfig(t.kubeconfig(name), side.Administrator()); err != nil {
			return err
		}
		if name == "peer" {
			t.peer = server
		}
	}
	return t.run(ctx, *examples)
}

// trial compares the two servers.
type trial struct {
	binary, kubectl, address, dir string
	peer                          *side.Server
}

func (t *trial) kubeconfig(name string) string { return filepath.Join(t.dir, name+".kubeconfig") }

// command runs a program for a server and returns its output, which ends with its exit code. It leaves out what
// only one of the servers prints: the prefix of the webhook, and warnings about field ownership.
func (t *trial) command(ctx context.Context, server, program string, args ...string) string {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+t.kubeconfig(server), "KUBE_EDITOR=sed -i s/size:.large/size:.small/")
	out, err := cmd.CombinedOutput()
	text := ""
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "Warning: ") {
			text += strings.ReplaceAll(line, `admission webhook "immutable.guard.holdfast.dev" denied the request: `, "")
		}
	}
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		return fmt.Sprintf("%sexit %d", text, ended.ExitCode())
	case err != nil:
		return err.Error()
	}
	return text + "exit 0"
}

// must runs a program for a server, and returns an error if it fails.
func (t *trial) must(ctx context.Context, server, program string, args ...string) error {
	out := t.command(ctx, server, program, args...)
	fmt.Println("$", filepath.Base(program), strings.Join(args, " "))
	if !strings.HasSuffix(out, "exit 0") {
		return fmt.Errorf("%s %s: %s", program, strings.Join(args, " "), out)
	}
	return nil
}

func (t *trial) run(ctx context.Context, examples string) error {
	if err := t.must(ctx, "peer", t.binary, "guard", "init", "--webhook-url", "https://"+t.address); err != nil {
		return err
	}
	converted, err := exec.CommandContext(ctx, t.binary, "guard", "convert", "-f", filepath.Join(examples, "widgets.yaml")).Output()
	if err != nil {
		return fmt.Errorf("holdfast guard convert: %w", err)
	}
	definition := filepath.Join(t.dir, "widgets.yaml")
	if err := os.WriteFile(definition, converted, 0o600); err != nil {
		return err
	}
	for _, server := range []string{"ours", "peer"} {
		for _, args := range [][]string{
			{"apply", "-f", definition},
			{"wait", "--for=condition=Established", "crd/widgets.example.com"},
			{"apply", "-f", filepath.Join(examples, "widget.yaml")},
		} {
			if err := t.must(ctx, server, t.kubectl, args...); err != nil {
				return err
			}
		}
	}
	// Without a kube-controller-manager, no aggregated role gets rules.
	for _, args := range [][]string{
		{"create", "clusterrole", "widgets-reader", "--verb=get", "--resource=widgets.example.com"},
		{"create", "clusterrolebinding", "widgets-reader", "--clusterrole=widgets-reader", "--serviceaccount=holdfast-guard:holdfast-guard"},
	} {
		if err := t.must(ctx, "peer", t.kubectl, args...); err != nil {
			return err
		}
	}
	stop, err := t.guard(ctx)
	if err != nil {
		return err
	}
	defer func() { stop() }()
	if err := t.compare(ctx, examples); err != nil {
		return err
	}
	return t.failures(ctx, &stop)
}

// guard starts a guard with a token of its service account, and waits until it refuses an update. It returns a
// function that ends it.
func (t *trial) guard(ctx context.Context) (stop func(), err error) {
	client, err := t.peer.Client(side.Administrator())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	answer, err := client.Do(ctx, side.Request{
		Method: http.MethodPost, Path: "/api/v1/namespaces/holdfast-guard/serviceaccounts/holdfast-guard/token", Body: []byte(`{"spec":{}}`),
	})
	if err != nil {
		return nil, err
	}
	var token struct{ Status struct{ Token string } }
	if err := json.Unmarshal(answer, &token); err != nil {
		return nil, err
	}
	if err := t.peer.WriteTokenKubeconfig(t.kubeconfig("guard"), token.Status.Token); err != nil {
		return nil, err
	}
	guard := exec.Command(t.binary, "guard", "serve", "--kubeconfig", t.kubeconfig("guard"), "--webhook-address", t.address,
		"--webhook-url", "https://"+t.address, "--health-address", "")
	guard.Stdout, guard.Stderr = os.Stdout, os.Stdout
	if err := guard.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = guard.Process.Signal(syscall.SIGTERM)
		_ = guard.Wait() // its output says how it ended
	}
	probe := []string{"patch", "widget", "anchor", "--type=merge", "-p", `{"spec":{"labels":null}}`, "--dry-run=server"}
	return stop, t.await(ctx, "spec.labels.team: addition only", probe...)
}

// await repeats a command on the peer until its output contains a text.
func (t *trial) await(ctx context.Context, text string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		out := t.command(ctx, "peer", t.kubectl, args...)
		switch {
		case strings.Contains(out, text):
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("kubectl %s: got %s, want %s", strings.Join(args, " "), out, text)
		}
		time.Sleep(200 * time.Millisecond)
	}
}
