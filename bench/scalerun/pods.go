package scalerun

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"holdfast.dev/holdfast/bench/manifest"
	"holdfast.dev/holdfast/bench/side"
)

// placedPod is a pod that the run has created and bound.
type placedPod struct {
	namespace, name string
	// number is the number of the pod, and node that of its node.
	number, node int
}

func podPath(namespace string) string { return "/api/v1/namespaces/" + namespace + "/pods" }

func (f *fleet) namespace(application int) string {
	return fmt.Sprintf("scale-%02d", application%f.settings.Namespaces)
}

// Pods share the ConfigMaps and Secrets of their application, which is part of their names.
func applicationName(number int) string { return fmt.Sprintf("app%03d", number) }

func applicationOf(pod string) string {
	name, _, _ := strings.Cut(pod, "-")
	return name
}

// pod returns the pod with a number. Generation says how often it was replaced.
func (f *fleet) pod(number, generation int) (placedPod, manifest.Map) {
	application := number % f.settings.Configs
	p := placedPod{
		namespace: f.namespace(application), name: fmt.Sprintf("%s-%06d-%d", applicationName(application), number, generation),
		number: number, node: number % len(f.nodes),
	}
	obj := manifest.Pod(p.name, generation)
	metadata, spec := obj["metadata"].(manifest.Map), obj["spec"].(manifest.Map)
	metadata["namespace"] = p.namespace
	metadata["labels"].(manifest.Map)["app"] = applicationName(application)
	var volumes, mounts manifest.List
	for i, c := range configsOf(applicationName(application)) {
		name := fmt.Sprintf("config-%d", i)
		volumes = append(volumes, manifest.Map{"name": name, c.volume: manifest.Map{c.nameField: c.name}})
		mounts = append(mounts, manifest.Map{"name": name, "mountPath": "/etc/" + name})
	}
	spec["volumes"] = volumes
	spec["containers"].(manifest.List)[0].(manifest.Map)["volumeMounts"] = mounts
	return p, obj
}

// create creates a pod and binds it to its node.
func (f *fleet) create(ctx context.Context, client *side.Client, p placedPod, obj manifest.Map) error {
	request := side.Request{Method: http.MethodPost, Path: podPath(p.namespace), Body: manifest.Encode(obj)}
	if err := settled(f.again(ctx, client, kind{"create", "pods"}, request), http.StatusConflict); err != nil {
		return err
	}
	return settled(f.again(ctx, client, kind{"create", "pods/binding"}, side.Request{
		Method: http.MethodPost, Path: podPath(p.namespace) + "/" + p.name + "/binding", Body: manifest.Encode(manifest.Map{
			"apiVersion": "v1", "kind": "Binding", "metadata": manifest.Map{"name": p.name, "namespace": p.namespace},
			"target": manifest.Map{"apiVersion": "v1", "kind": "Node", "name": f.nodes[p.node].name},
		}),
	}), http.StatusConflict)
}

// startPods creates the pods, and waits until they run. It creates fewer if the machine has no memory left.
func (f *fleet) startPods(ctx context.Context) error {
	f.placed = make([]placedPod, f.settings.Pods)
	var created atomic.Int64
	err := f.atRate(ctx, f.settings.Pods, func(client *side.Client, i int) error {
		if f.full.Load() {
			return nil
		}
		p, obj := f.pod(i, 0)
		if err := f.create(ctx, client, p, obj); err != nil {
			return err
		}
		f.placed[i] = p
		created.Add(1)
		return f.keepUp(ctx, created.Load)
	})
	if err != nil {
		return err
	}
	placed := f.placed[:0]
	for _, p := range f.placed {
		if p.name != "" {
			placed = append(placed, p)
		}
	}
	f.placed = placed
	return f.tally.await(ctx, len(placed))
}

// keepUp waits until at most the settings' number of pods wait for their nodes.
func (f *fleet) keepUp(ctx context.Context, created func() int64) error {
	for {
		if _, running := f.tally.count(); created()-int64(running) < int64(f.settings.Waiting) {
			return nil
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// replacePods deletes pods, as a controller does, and creates one in the place of each. It waits until all of them run.
func (f *fleet) replacePods(ctx context.Context) error {
	count := min(f.settings.Replaced, len(f.placed))
	all := func() int64 { return int64(len(f.placed)) }
	err := f.atRate(ctx, count, func(client *side.Client, i int) error {
		request := side.Request{Method: http.MethodDelete, Path: podPath(f.placed[i].namespace) + "/" + f.placed[i].name}
		if err := settled(f.again(ctx, client, kind{"delete", "pods"}, request), http.StatusNotFound); err != nil {
			return err
		}
		p, obj := f.pod(f.placed[i].number, 1)
		if err := f.create(ctx, client, p, obj); err != nil {
			return err
		}
		f.placed[i] = p
		return f.keepUp(ctx, all)
	})
	if err != nil {
		return err
	}
	return f.tally.await(ctx, len(f.placed))
}

// atRate calls do for the numbers below n, with the client of one of the creators, at the rate of the settings, until one fails.
func (f *fleet) atRate(ctx context.Context, n int, do func(client *side.Client, i int) error) error {
	clients := make([]*side.Client, f.settings.Creators)
	for i := range clients {
		var err error
		if clients[i], err = f.server.Client(side.Administrator()); err != nil {
			return err
		}
		defer clients[i].Close()
	}
	started := time.Now()
	return each(len(clients), n, func(worker, i int) error {
		due := started.Add(time.Duration(float64(i) / f.settings.Rate * float64(time.Second)))
		if err := pause(ctx, max(0, time.Until(due))); err != nil {
			return err
		}
		return do(clients[worker], i)
	})
}

// each calls do for the numbers below n, workers of them at a time, until one fails.
func each(workers, n int, do func(worker, i int) error) error {
	errs := make([]error, workers)
	var next atomic.Int64
	var failed atomic.Bool
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && !failed.Load(); i = int(next.Add(1)) - 1 {
				if errs[worker] = do(worker, i); errs[worker] != nil {
					failed.Store(true)
					return
				}
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
