package scalerun

import (
	"context"
	"net/http"

	"holdfast.dev/holdfast/bench/side"
)

// loseNodes ends nodes without a word to the server, and deletes their Node objects, as a cloud controller does. It waits until their
// pods are gone. If no controller of the server deletes these pods, the run does it after the quarantine.
func (f *fleet) loseNodes(ctx context.Context, collected bool) error {
	lost := f.nodes[:min(f.settings.Lost, len(f.nodes))]
	var pods []placedPod
	for _, p := range f.placed {
		if p.node < len(lost) {
			pods = append(pods, p)
		}
	}
	for _, n := range lost {
		n.lose()
	}
	err := f.atRate(ctx, len(lost), func(client *side.Client, i int) error {
		return f.again(ctx, client, kind{"delete", "nodes"}, side.Request{Method: http.MethodDelete, Path: nodePath + "/" + lost[i].name})
	})
	if err != nil {
		return err
	}
	if !collected {
		if err := pause(ctx, f.settings.Quarantine); err != nil {
			return err
		}
		err := f.atRate(ctx, len(pods), func(client *side.Client, i int) error {
			return settled(f.again(ctx, client, kind{"delete", "pods"}, side.Request{
				Method: http.MethodDelete, Path: podPath(pods[i].namespace) + "/" + pods[i].name, Body: []byte(`{"gracePeriodSeconds":0}`),
			}), http.StatusNotFound)
		})
		if err != nil {
			return err
		}
	}
	return f.tally.await(ctx, len(f.placed)-len(pods))
}
