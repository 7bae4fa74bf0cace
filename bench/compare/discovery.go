package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

const discoverySection = "discovery"

// discoveryLimit is the longest time of kubectl, in ms.
const discoveryLimit = 2000

// discovery measures the first command of a kubectl that knows nothing of the server.
func (r *runner) discovery(ctx context.Context) error {
	if _, err := exec.LookPath(r.settings.Kubectl); err != nil {
		r.Progress(fmt.Sprintf("no kubectl, so no stage discovery: %v", err))
		return nil
	}
	return r.serve(ctx, func(servers []*side.Server) error {
		for i, server := range servers {
			if err := defineGroups(ctx, server, r.settings.GroupVersions); err != nil {
				return fmt.Errorf("%s: %w", r.figures.Sides[i].Name, err)
			}
		}
		if err := pause(ctx, r.settings.Settle); err != nil {
			return err
		}
		name := fmt.Sprintf("kubectl get with an empty cache, %d group versions", r.settings.GroupVersions)
		for _, row := range []Row{
			{Section: discoverySection, Name: "time of " + name, Unit: waitUnit, Limit: discoveryLimit},
			{Section: discoverySection, Name: "CPU time of the server for " + name, Unit: "ms"},
		} {
			err := r.takeTurns(servers, row, func(server *side.Server) (Sample, error) { return r.discover(ctx, server, row.Unit) })
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// discover runs kubectl with an empty cache.
func (r *runner) discover(ctx context.Context, server *side.Server, unit string) (Sample, error) {
	dir, err := os.MkdirTemp(r.Dir, "kubectl-")
	if err != nil {
		return Sample{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := server.WriteKubeconfig(kubeconfig, side.Administrator()); err != nil {
		return Sample{}, err
	}
	used, err := measure(server, func() error {
		cmd := exec.CommandContext(ctx, r.settings.Kubectl, "get", "configmaps", "--namespace", "default",
			"--kubeconfig", kubeconfig, "--cache-dir", filepath.Join(dir, "cache"))
		text, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %.500s", r.settings.Kubectl, err, text)
		}
		return nil
	})
	if err != nil {
		return Sample{}, err
	}
	if unit == waitUnit {
		return used.sample(milliseconds(used.elapsed)), nil
	}
	return used.sample(milliseconds(used.cpu)), nil
}

// defineGroups creates small definitions, each in a group of its own, until the server has a number of group versions.
func defineGroups(ctx context.Context, server *side.Server, want int) error {
	client, err := server.Client(side.Administrator())
	if err != nil {
		return err
	}
	defer client.Close()
	have, err := groupVersions(ctx, client)
	if err != nil {
		return err
	}
	for i := range max(0, want-have) {
		small := resource{group: fmt.Sprintf("group%03d.example.com", i), name: "part", fields: 15}
		if _, err := client.Do(ctx, small.create()); err != nil {
			return err
		}
	}
	// The server publishes a definition a moment after it has stored it.
	for end := time.Now().Add(2 * time.Minute); ; {
		have, err := groupVersions(ctx, client)
		if err != nil || have >= want {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("the server has %d of %d group versions", have, want)
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// groupVersions returns the number of group versions of a server, with that of the core group.
func groupVersions(ctx context.Context, client *side.Client) (int, error) {
	answer, err := client.Do(ctx, side.Request{Method: http.MethodGet, Path: "/apis"})
	if err != nil {
		return 0, err
	}
	var groups struct {
		Groups []struct{ Versions []json.RawMessage }
	}
	if err := json.Unmarshal(answer, &groups); err != nil {
		return 0, err
	}
	if len(groups.Groups) == 0 {
		return 0, errors.New("the server has no groups")
	}
	count := 1
	for _, g := range groups.Groups {
		count += len(g.Versions)
	}
	return count, nil
}
