package kubectl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// limit is the time that a command may take.
const limit = 30 * time.Second

// Server is a server that commands run on.
type Server struct {
	// Name is the name of the server in reports.
	Name string
	// Kubeconfig is the file with the credential of an administrator, and Port a port that no process listens on.
	Kubeconfig, Port string
	// Holdfast is the holdfast binary, as a client.
	Holdfast string
}

// Runner runs commands on two servers.
type Runner struct{ ours, peer place }

// place is a server and the directory in which its commands run.
type place struct {
	Server
	dir string
}

// NewRunner returns a Runner with the files of the script in directories below dir.
func NewRunner(dir string, ours, peer Server) (*Runner, error) {
	r := &Runner{ours: place{Server: ours}, peer: place{Server: peer}}
	for _, p := range []*place{&r.ours, &r.peer} {
		p.dir = filepath.Join(dir, "files-"+p.Name)
		if err := os.Mkdir(p.dir, 0o755); err != nil {
			return nil, err
		}
		if err := writeFiles(p.dir); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// output is what a command printed.
type output struct {
	code int
	text string
}

// Outcome is the result of a command on both servers.
type Outcome struct {
	Command    Command
	Ours, Peer string
	// Problem says what is wrong, empty if nothing is.
	Problem string
}

// Compare runs a command on both servers at the same time.
func (r *Runner) Compare(ctx context.Context, c Command) Outcome {
	var ours, peer output
	var both sync.WaitGroup
	both.Go(func() { ours = r.ours.run(ctx, c.Text) })
	both.Go(func() { peer = r.peer.run(ctx, c.Text) })
	both.Wait()
	return Outcome{Command: c, Ours: ours.String(), Peer: peer.String(), Problem: c.judge(ours, peer)}
}

// judge says what is wrong with the outputs of a command.
func (c Command) judge(ours, peer output) string {
	sameText, sameCode := ours.text == peer.text, ours.code == peer.code
	switch {
	case c.Prepares && (ours.code != 0 || peer.code != 0):
		return "the command fails"
	case c.Prepares:
		return ""
	case c.Differs == "" && !(sameText && sameCode):
		return "the outcomes differ"
	case c.Differs == "":
		return ""
	case sameText && sameCode, c.CodeDiffers == sameCode:
		return "the exception is wrong: " + c.Differs
	}
	return ""
}

func (o output) String() string { return fmt.Sprintf("%sexit %d", o.text, o.code) }

// run runs a command for bash.
func (p place) run(ctx context.Context, text string) output {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", text)
	cmd.Dir, cmd.WaitDelay = p.dir, time.Second
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.Kubeconfig, "SIDE="+p.Name, "PORT="+p.Port, "HOLDFAST="+p.Holdfast)
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		return output{ended.ExitCode(), normal(string(out))}
	case err != nil:
		return output{-1, strings.TrimSpace(err.Error()) + "\n"}
	}
	return output{0, normal(string(out))}
}
