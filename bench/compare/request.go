package compare

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	"holdfast.dev/holdfast/bench/side"
)

// target is a kind of object that the rows work on.
type target struct {
	// path is the URL path of the objects in the namespace default.
	path     string
	instance func(name string, generation int) object
	change   func(generation int) object
	// status returns a patch of the status, for objects that have one.
	status func(generation int) object
}

func (r resource) target() target {
	return target{path: "/apis/" + r.group + "/v1/namespaces/default/" + r.plural(), instance: r.instance, change: r.change}
}

// worker is one client. It works on an object of its own.
type worker struct {
	*side.Client
	target
	// name is the name of the worker's object, and the start of the names that it creates.
	name string
	// generation counts the requests, so that each of them changes something.
	generation int
	// revision is the resourceVersion of the worker's object.
	revision string
}

// next returns the next generation.
func (w *worker) next() int {
	w.generation++
	return w.generation
}

// createOwn creates the worker's object, or reads its resourceVersion if an earlier sample has created it.
func createOwn(ctx context.Context, w *worker) error {
	if err := sendGet(ctx, w); err == nil {
		return nil
	}
	answer, err := w.Do(ctx, side.Request{Method: http.MethodPost, Path: w.path, Body: encode(w.instance(w.name, w.next()))})
	w.revision = revisionOf(answer)
	return err
}

func sendCreate(ctx context.Context, w *worker) error {
	obj := w.instance(fmt.Sprintf("%s-%d", w.name, w.next()), 1)
	_, err := w.Do(ctx, side.Request{Method: http.MethodPost, Path: w.path, Body: encode(obj)})
	return err
}

func sendGet(ctx context.Context, w *worker) error {
	answer, err := w.Do(ctx, side.Request{Method: http.MethodGet, Path: w.path + "/" + w.name})
	if err == nil {
		w.revision = revisionOf(answer)
	}
	return err
}

func sendUpdate(ctx context.Context, w *worker) error {
	obj := w.instance(w.name, w.next())
	metadata, _ := obj["metadata"].(object)
	metadata["resourceVersion"] = w.revision
	answer, err := w.Do(ctx, side.Request{Method: http.MethodPut, Path: w.path + "/" + w.name, Body: encode(obj)})
	w.revision = revisionOf(answer)
	return err
}

func sendMergePatch(ctx context.Context, w *worker) error {
	_, err := w.Do(ctx, side.Request{
		Method: http.MethodPatch, Path: w.path + "/" + w.name,
		ContentType: "application/merge-patch+json", Body: encode(w.change(w.next())),
	})
	return err
}

// sendStatus writes the status of the worker's object, as a kubelet does.
func sendStatus(ctx context.Context, w *worker) error {
	_, err := w.Do(ctx, statusPatch(w.target, w.name, w.next()))
	return err
}

func statusPatch(t target, name string, generation int) side.Request {
	return side.Request{
		Method: http.MethodPatch, Path: t.path + "/" + name + "/status",
		ContentType: "application/strategic-merge-patch+json", Body: encode(t.status(generation)),
	}
}

// sendApply applies the whole object on the server. The first request creates it.
func sendApply(ctx context.Context, w *worker) error {
	_, err := w.Do(ctx, side.Request{
		Method: http.MethodPatch, Path: w.path + "/applied-" + w.name + "?fieldManager=bench",
		ContentType: "application/apply-patch+yaml", Body: encode(w.instance("applied-"+w.name, w.next())),
	})
	return err
}

func sendList(ctx context.Context, w *worker) error {
	_, err := w.Do(ctx, side.Request{Method: http.MethodGet, Path: w.path})
	return err
}

// fill creates n objects, unless an earlier sample or worker has created them.
func fill(n int) func(ctx context.Context, w *worker) error {
	name := func(i int) string { return fmt.Sprintf("filled-%06d", i) }
	return func(ctx context.Context, w *worker) error {
		if _, err := w.Do(ctx, side.Request{Method: http.MethodGet, Path: w.path + "/" + name(n-1)}); err == nil {
			return nil
		}
		for i := range n {
			if _, err := w.Do(ctx, side.Request{Method: http.MethodPost, Path: w.path, Body: encode(w.instance(name(i), 1))}); err != nil {
				return err
			}
		}
		return nil
	}
}

// deleteAll deletes the objects of a target.
func deleteAll(ctx context.Context, server *side.Server, t target) error {
	client, err := server.Client(side.Administrator())
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = client.Do(ctx, side.Request{Method: http.MethodDelete, Path: t.path})
	return err
}

// revisionOf finds the resourceVersion in the JSON text of an object. It does not decode the text, so that the client uses little
// CPU time.
func revisionOf(text []byte) string {
	_, rest, _ := bytes.Cut(text, []byte(`"resourceVersion":"`))
	revision, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(revision)
}
