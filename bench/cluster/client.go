package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"

	"holdfast.dev/holdfast/bench/side"
)

// namespace is the namespace of the steps.
const namespace = "default"

// path returns the path of a namespaced resource, such as "apps/v1/deployments/web".
func path(resource string) string {
	group, rest, _ := strings.Cut(resource, "/")
	if group == "v1" {
		return "/api/v1/namespaces/" + namespace + "/" + rest
	}
	version, rest, _ := strings.Cut(rest, "/")
	return "/apis/" + group + "/" + version + "/namespaces/" + namespace + "/" + rest
}

// get reads an object.
func (c *Cluster) get(ctx context.Context, path string) (*object, error) {
	answer, err := c.client.Do(ctx, side.Request{Method: http.MethodGet, Path: path})
	if err != nil {
		return nil, err
	}
	var read object
	return &read, json.Unmarshal(answer, &read)
}

// list reads the objects of a collection.
func (c *Cluster) list(ctx context.Context, path string) ([]object, error) {
	answer, err := c.client.Do(ctx, side.Request{Method: http.MethodGet, Path: path})
	if err != nil {
		return nil, err
	}
	var read struct{ Items []object }
	return read.Items, json.Unmarshal(answer, &read)
}

// pods reads the pods of the Deployment web.
func (c *Cluster) pods(ctx context.Context) ([]object, error) {
	return c.list(ctx, path("v1/pods")+"?labelSelector=app%3Dweb")
}

// merge sends a JSON merge patch.
func (c *Cluster) merge(ctx context.Context, path, patch string) error {
	_, err := c.client.Do(ctx, side.Request{
		Method: http.MethodPatch, Path: path, ContentType: "application/merge-patch+json", Body: []byte(patch),
	})
	return err
}

// create creates the objects of a manifest.
func (c *Cluster) create(ctx context.Context, manifest string) error {
	return c.command(ctx, manifest, "create", "-f", "-")
}

// command runs a command of the holdfast binary as the administrator.
func (c *Cluster) command(ctx context.Context, stdin string, args ...string) error {
	cmd := exec.CommandContext(ctx, c.settings.Holdfast, append(args, "--kubeconfig", c.kubeconfig)...)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("holdfast %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(out.String()))
	}
	return nil
}

// event is one event of a watch.
type event struct {
	Type   string
	Object object
}

// errEnded is the error of a watch that the server has ended. The client begins again, as every client does.
var errEnded = errors.New("the server has ended the watch")

// watch calls see with the events until it returns true or an error. The path has a query.
func watch(ctx context.Context, client *side.Client, path string, see func(event) (bool, error)) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, client.URL+path+"&watch=true", http.NoBody)
	if err != nil {
		return err
	}
	answer, err := client.HTTP.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("watch %s: %s", path, answer.Status)
	}
	for decoder := json.NewDecoder(answer.Body); ; {
		var next struct {
			Type   string
			Object json.RawMessage
		}
		if err := decoder.Decode(&next); err != nil {
			return fmt.Errorf("%w: %w", errEnded, err)
		}
		if next.Type == "ERROR" {
			return fmt.Errorf("%w: %s", errEnded, next.Object)
		}
		seen := event{Type: next.Type}
		if err := json.Unmarshal(next.Object, &seen.Object); err != nil {
			return err
		}
		if done, err := see(seen); done || err != nil {
			return err
		}
	}
}
