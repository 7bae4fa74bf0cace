package guard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"holdfast.dev/holdfast/bench/side"
)

// cluster is a server with rules.
type cluster struct {
	name, kubeconfig string
	server           *side.Server
	client           *side.Client
}

// startCluster starts a server. The caller must call stop.
func startCluster(dir, name string, from side.Side) (*cluster, error) {
	server, err := from.Start(dir)
	if err != nil {
		return nil, err
	}
	c := &cluster{name: name, kubeconfig: filepath.Join(dir, name+".kubeconfig"), server: server}
	if c.client, err = server.Client(side.Administrator()); err == nil {
		err = server.WriteKubeconfig(c.kubeconfig, side.Administrator())
	}
	if err != nil {
		server.Stop()
		return nil, err
	}
	return c, nil
}

func (c *cluster) stop() {
	c.client.Close()
	c.server.Stop()
}

// outcome is what a cluster makes of a write.
type outcome struct {
	accepted bool
	// unchanged means that the write was accepted, and the resourceVersion stayed the same.
	unchanged bool
	// code is the exit code of a command, or the HTTP status of a request.
	code int
	text string
	// causes are the causes of a refused request.
	causes []cause
}

// cause is one reason of a refusal.
type cause struct{ Field, Message string }

func (o outcome) String() string {
	if o.unchanged {
		return fmt.Sprintf("%d %s, with the same resourceVersion", o.code, o.text)
	}
	return fmt.Sprintf("%d %s", o.code, o.text)
}

// webhookPrefix is what an API server puts before the message of a webhook.
var webhookPrefix = regexp.MustCompile(`admission webhook "[^"]*" denied the request: `)

// command runs a program for a cluster. It leaves out the prefix of the webhook, and warnings: only our server warns about the
// ownership of fields.
func (t *trial) command(ctx context.Context, c *cluster, program string, args ...string) outcome {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig, "KUBE_EDITOR=sed -i s/size:.large/size:.small/")
	out, err := cmd.CombinedOutput()
	o := outcome{accepted: err == nil}
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "Warning: ") {
			o.text += webhookPrefix.ReplaceAllString(line, "")
		}
	}
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		o.code = ended.ExitCode()
	case err != nil:
		o.code, o.text = -1, err.Error()
	}
	return o
}

// must runs a program for a cluster, and returns an error if it fails.
func (t *trial) must(ctx context.Context, c *cluster, program string, args ...string) error {
	o := t.command(ctx, c, program, args...)
	t.printf("%s $ %s %s", c.name, filepath.Base(program), strings.Join(args, " "))
	if !o.accepted {
		return fmt.Errorf("%s: %s %s: %s", c.name, program, strings.Join(args, " "), o)
	}
	return nil
}

// output runs a program and returns what it prints on stdout.
func (t *trial) output(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
	}
	return string(out), nil
}

// write writes a file for the programs and returns its path.
func (t *trial) write(name, text string) (string, error) {
	file := filepath.Join(t.dir, name)
	return file, os.WriteFile(file, []byte(text), 0o600)
}
