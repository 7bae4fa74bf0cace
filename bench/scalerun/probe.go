package scalerun

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// What the probe does in every tenth of its turns, and in every hundredth.
const (
	someTurns = 10
	fewTurns  = 100
)

// probe reads objects, until the context ends: single objects in each turn, the pods of a node and a change of a ConfigMap in every
// tenth turn, the pods of an application in every hundredth, and all pods in the interval of the settings. placed are the pods that exist.
func (f *fleet) probe(ctx context.Context, placed []placedPod) {
	listed := time.Now()
	for turn := 1; pause(ctx, f.settings.Probe) == nil; turn++ {
		p := placed[rand.IntN(len(placed))]
		_, _ = f.do(ctx, f.admin, kind{"get", "pods"}, side.Request{Method: http.MethodGet, Path: podPath(p.namespace) + "/" + p.name})
		_, _ = f.do(ctx, f.admin, kind{"get", "nodes"}, side.Request{Method: http.MethodGet, Path: nodePath + "/" + nodeName(p.node)})
		if turn%someTurns == 0 {
			f.list(ctx, "pods of a node", "/api/v1/pods?resourceVersion=0&fieldSelector=spec.nodeName%3D"+nodeName(p.node), len(placed)/len(f.nodes))
			f.changeConfig(ctx, turn/someTurns)
		}
		if turn%fewTurns == 0 {
			f.list(ctx, "pods of an application", podPath(p.namespace)+"?labelSelector=app%3D"+applicationOf(p.name), len(placed)/f.settings.Configs)
		}
		if time.Since(listed) >= f.settings.List {
			f.list(ctx, "all pods", "/api/v1/pods?resourceVersion=0", len(placed))
			listed = time.Now()
		}
	}
}

// list lists about a number of objects and reads the answer to its end.
func (f *fleet) list(ctx context.Context, resource, path string, objects int) {
	started := time.Now()
	_, err := f.admin.Drain(ctx, side.Request{Method: http.MethodGet, Path: path})
	if ctx.Err() == nil {
		f.record.request(kind{"list", resource}, time.Since(started), objects, err)
	}
}
