package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"holdfast.dev/holdfast/bench/side"
)

// ship is the object of the recorded writes.
const ship = `{"apiVersion":"example.com/v1","kind":"Ship","metadata":{"name":"argo","namespace":"default"},"spec":{
	"colour":"white","replicas":1,"hull":{"length":12,"wood":"oak"},"flags":["a","b"],"labels":{"x":"1"},"crew":{"cook":"jo"},
	"masts":[{"name":"main","height":9,"sail":"gaff"}]}}`

// recordedWrite is a write whose review is stored. All writes are dry runs, so the object stays as it is.
type recordedWrite struct {
	// name is the name of the file.
	name, patch string
	// version is v1 if it is empty.
	version, subresource string
	// apply means that the patch is a server-side apply.
	apply bool
	// blind means that the user may not read the object.
	blind bool
}

// recordedWrites returns the writes that Record makes.
func recordedWrites() []recordedWrite {
	const everything = `{"spec":{"colour":"red","hull":null,"flags":["b"],"labels":{"x":null,"y":"1"},"crew":{"a":"b"},"masts":[]}}`
	return []recordedWrite{
		{name: "unchanged", patch: `{}`},
		{name: "label", patch: `{"metadata":{"labels":{"a":"b"}}}`},
		{name: "hull-changed", patch: `{"spec":{"hull":{"length":13}}}`},
		{name: "hull-removed", patch: `{"spec":{"hull":null}}`},
		{name: "hull-long-integer", patch: `{"spec":{"hull":{"length":9007199254740993}}}`},
		{name: "hull-long-text", patch: `{"spec":{"hull":{"wood":"` + strings.Repeat("oak ", 300) + `"}}}`},
		{name: "hull-not-ascii", patch: `{"spec":{"hull":{"wood":"Ebenhölz \u2028 <&> \"x\""}}}`},
		{name: "flags-reordered", patch: `{"spec":{"flags":["b","a","c"]}}`},
		{name: "flags-removed", patch: `{"spec":{"flags":["b"]}}`},
		{name: "label-value", patch: `{"spec":{"labels":{"x":"2"}}}`},
		{name: "label-key", patch: `{"spec":{"labels":{"x":null,"y":"1"}}}`},
		{name: "crew-added", patch: `{"spec":{"crew":{"mate":"al"}}}`},
		{name: "crew-removed", patch: `{"spec":{"crew":null}}`},
		{name: "mast-height", patch: `{"spec":{"masts":[{"name":"main","height":8,"sail":"gaff"}]}}`},
		{name: "mast-sail", patch: `{"spec":{"masts":[{"name":"main","height":9,"sail":"lug"}]}}`},
		{name: "mast-added", patch: `{"spec":{"masts":[{"name":"fore"},{"name":"main","sail":"gaff"}]}}`},
		{name: "colour-through-v1", patch: `{"spec":{"colour":"red"}}`},
		{name: "colour-through-v2", version: "v2", patch: `{"spec":{"colour":"red"}}`},
		{name: "hull-through-v2", version: "v2", patch: `{"spec":{"hull":{"length":13}}}`},
		{name: "everything", patch: everything},
		{name: "everything-through-v2", version: "v2", patch: everything},
		{name: "whole-spec", patch: `{"spec":null}`},
		{name: "replicas", patch: `{"spec":{"replicas":2}}`},
		{name: "scale-unchanged", subresource: "scale", patch: `{"spec":{"replicas":1}}`},
		{name: "scale", subresource: "scale", patch: `{"spec":{"replicas":2}}`},
		{name: "scale-through-v2", version: "v2", subresource: "scale", patch: `{"spec":{"replicas":2}}`},
		{name: "status-replicas", subresource: "status", patch: `{"status":{"replicas":2}}`},
		{name: "status-port", subresource: "status", patch: `{"status":{"port":"Iolcus"}}`},
		{
			name: "apply", apply: true,
			patch: `{"apiVersion":"example.com/v1","kind":"Ship","spec":{"hull":{"wood":"ash"},"labels":{"z":"1"}}}`,
		},
		{name: "blind", blind: true, patch: everything},
		{name: "blind-scale", blind: true, subresource: "scale", patch: `{"spec":{"replicas":2}}`},
		{name: "blind-status", blind: true, subresource: "status", patch: `{"status":{"port":"Iolcus"}}`},
	}
}

// recording is the content of a file.
type recording struct {
	// Stored is the object before the write, in the storage version.
	Stored json.RawMessage
	// Request is what kube-apiserver asked, and Response what the guard answered.
	Request, Response json.RawMessage
}

// lines returns the recording as JSON, with a line for each field.
func (r recording) lines() []byte {
	return fmt.Appendf(nil, "{\"stored\":%s,\n\"request\":%s,\n\"response\":%s}\n", r.Stored, r.Request, r.Response)
}

// Record makes writes on a kube-apiserver with the guard, and writes the reviews to a directory that has definition.yaml. Files of
// programs are below dir.
func Record(ctx context.Context, dir, into string, settings Settings) error {
	t := newTrial(dir, settings)
	c, err := startCluster(dir, webhook, side.Peer(t.Peer))
	if err != nil {
		return err
	}
	defer c.stop()
	r, err := t.startRecorder(ctx, c)
	if err != nil {
		return err
	}
	defer r.stop()
	users, err := t.prepareRecording(ctx, c, filepath.Join(into, "definition.yaml"))
	if err != nil {
		return fmt.Errorf("%w\nlog of the guard:\n%s", err, r.guard.Log())
	}
	for i, w := range recordedWrites() {
		client := users[0]
		if w.blind {
			client = users[1]
		}
		recorded, err := t.record(ctx, r, client, w)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		file := filepath.Join(into, fmt.Sprintf("%02d-%s.json", i+1, w.name))
		if err := os.WriteFile(file, recorded.lines(), 0o644); err != nil {
			return err
		}
	}
	t.printf("%d reviews", len(recordedWrites()))
	return nil
}

// prepareRecording creates the ship, and returns the clients of an administrator and of a user that may write but not read it.
func (t *trial) prepareRecording(ctx context.Context, c *cluster, definition string) ([]*side.Client, error) {
	file, err := t.write("ship.json", ship)
	if err != nil {
		return nil, err
	}
	for _, args := range [][]string{
		{"apply", "-f", definition},
		{"wait", "--for=condition=Established", "crd/ships.example.com"},
		{"create", "-f", file},
		{"patch", "ship", "argo", "--subresource=status", "--type=merge", "-p", `{"status":{"port":"Aulis","replicas":1}}`},
		{"create", "clusterrole", "writer", "--verb=update,patch", "--resource=ships.example.com,ships.example.com/status,ships.example.com/scale"},
		{"create", "clusterrolebinding", "writer", "--clusterrole=writer", "--user=writer"},
	} {
		if err := t.must(ctx, c, t.Kubectl, args...); err != nil {
			return nil, err
		}
	}
	for _, subresource := range []string{"", "--subresource=status", "--subresource=scale"} {
		change := []string{"patch", "ship", "argo", "--type=merge", "--dry-run=server", "-p", `{"spec":{"replicas":2},"status":{"port":"x"}}`}
		if subresource != "" {
			change = append(change, subresource)
		}
		if err := t.await(ctx, c, isRefusal, change...); err != nil {
			return nil, err
		}
	}
	blind, err := c.server.Client(side.User{Name: "writer"})
	if err != nil {
		return nil, err
	}
	return []*side.Client{c.client, blind}, nil
}

// record makes one write and returns its review.
func (t *trial) record(ctx context.Context, r *recorder, client *side.Client, w recordedWrite) (recording, error) {
	const at = "/namespaces/default/ships/argo"
	stored, err := r.cluster.client.Do(ctx, side.Request{Method: http.MethodGet, Path: "/apis/example.com/v1" + at})
	if err != nil {
		return recording{}, err
	}
	version := "v1"
	if w.version != "" {
		version = w.version
	}
	path := "/apis/example.com/" + version + at
	if w.subresource != "" {
		path += "/" + w.subresource
	}
	request := side.Request{Method: http.MethodPatch, Path: path + "?dryRun=All", ContentType: mergePatch, Body: []byte(w.patch)}
	if w.apply {
		request.ContentType = "application/apply-patch+yaml"
		request.Path += "&force=true&fieldManager=recorder"
	}
	r.take()
	answer, err := client.Do(ctx, request)
	o, err := outcomeOf(answer, err)
	if err != nil {
		return recording{}, err
	}
	last := r.take()
	if last.Request == nil {
		return recording{}, fmt.Errorf("kube-apiserver did not ask the guard: %s", o)
	}
	last.Stored = bytes.TrimSpace(stored)
	t.printf("%-22s %s", w.name, o)
	return last, nil
}
