package scalerun

import (
	"context"
	"net/http"
	"time"

	"holdfast.dev/holdfast/bench/manifest"
	"holdfast.dev/holdfast/bench/side"
)

// handle starts a new pod, and ends a pod that is being deleted. An error is counted, and the pod stays as it is.
func (n *node) handle(e event) {
	state := n.pods[e.key()]
	switch {
	case e.kind == "DELETED":
		delete(n.pods, e.key())
	case e.deleting && state != ended:
		n.pods[e.key()] = ended
		path := podPath(e.namespace) + "/" + e.name
		_ = n.fleet.again(n.ctx, n.client, kind{"delete", "pods"}, side.Request{
			Method: http.MethodDelete, Path: path, Body: []byte(`{"gracePeriodSeconds":0}`),
		})
	case !e.deleting && !e.running && state == 0:
		n.pods[e.key()] = started
		n.readConfigs(e.namespace, applicationOf(e.name))
		_ = n.patchStatus(n.ctx, "pods/status", podPath(e.namespace)+"/"+e.name, manifest.PodStatus(1))
	case e.running && state == 0:
		n.pods[e.key()] = started // the pod ran before the watch began again
	}
}

// readConfigs reads the ConfigMaps and Secrets of an application, once, and watches those that are mutable.
func (n *node) readConfigs(namespace, application string) {
	for _, c := range configsOf(application) {
		path := "/api/v1/namespaces/" + namespace + "/" + c.resource
		if n.configs[path+"/"+c.name] {
			continue
		}
		n.configs[path+"/"+c.name] = true
		answer, err := n.readConfig(n.ctx, c.resource, path+"/"+c.name)
		if err != nil || c.immutable {
			continue
		}
		s := &stream{
			client: n.client, path: path + "?fieldSelector=metadata.name%3D" + c.name, resource: c.resource, revision: revisionOf(answer),
		}
		n.run(func() { n.fleet.follow(n.ctx, s) })
		n.fleet.configWatches.Add(1)
	}
}

// readConfig reads an object. The server lets a node read it a moment after the pod that names it was bound to the node, so a
// refusal counts only if it lasts.
func (n *node) readConfig(ctx context.Context, resource, path string) ([]byte, error) {
	request := side.Request{Method: http.MethodGet, Path: path}
	for wait := 50 * time.Millisecond; ; wait *= 2 {
		begun := time.Now()
		answer, err := n.client.Do(ctx, request)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !isCode(err, http.StatusForbidden) || wait > 2*time.Second {
			n.fleet.record.request(kind{"get", resource}, time.Since(begun), 0, err)
			return answer, err
		}
		if err := pause(ctx, wait); err != nil {
			return nil, err
		}
	}
}
