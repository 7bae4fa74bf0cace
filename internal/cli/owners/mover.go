package owners

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/managers"
)

// maxConflicts is how often the command reads an object again that other clients change.
const maxConflicts = 10

// progressInterval is how often a command writes how far it is.
const progressInterval = 2 * time.Second

// mover changes the managed fields of objects, one after the other.
type mover struct {
	metadata metadata.Interface
	dynamic  dynamic.Interface
	objects  objects
	dryRun   command.DryRun
	limit    flowcontrol.RateLimiter
	out      io.Writer
	notes    io.Writer

	// seen, changed and fields count objects that were read, objects that were changed, and their fields that moved.
	seen, changed, fields int
	// failed counts the objects that were not changed as asked, and left the fields that stay because of their version.
	failed, left int
	shown        time.Time
}

// newMover returns a mover with clients for the server of the command.
func newMover(t transferOptions, o objects, out, notes io.Writer) (*mover, error) {
	config, err := o.factory.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.QPS = -1 // limit bounds the requests for single objects
	// Deprecated kinds have managers too.
	config.WarningHandler = rest.NoWarnings{}
	m := &mover{
		objects: o, dryRun: t.dryRun, out: out, notes: notes, shown: time.Now(),
		limit: flowcontrol.NewTokenBucketRateLimiter(t.bulk.rate, 1),
	}
	if m.metadata, err = metadata.NewForConfig(config); err != nil {
		return nil, err
	}
	m.dynamic, err = dynamic.NewForConfig(config)
	return m, err
}

// cluster returns what identifies the cluster: the UID of the namespace kube-system. It is empty if the user may not read it.
// Moves are still safe then, because each one names the UID of its object.
func (m *mover) cluster(ctx context.Context) (string, error) {
	system, err := m.metadata.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).
		Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
		fmt.Fprintf(m.notes, "note: the record does not name the cluster: %v\n", err)
		return "", nil
	case err != nil:
		return "", err
	}
	return string(system.UID), nil
}

// step returns the change for an object as it is now, nil if there is nothing to do. It is called again if the object has changed
// before the request.
type step func(*metav1.PartialObjectMetadata) (*managers.Fields, error)

// outcome says what became of the change of an object.
type outcome int

const (
	// unchanged means that the step found nothing to do.
	unchanged outcome = iota
	// changed means that the server has stored the change, or has accepted it in a dry run.
	changed
	// refused means that the server answered with an error.
	refused
	// gone means that the object was deleted before it could be changed.
	gone
)

// change changes the managed fields of an object by a step. If the server refuses the change, or the object is deleted meanwhile, the
// command writes a note and goes on with the next object. Without an answer, it is an error.
func (m *mover) change(ctx context.Context, of kind, obj *metav1.PartialObjectMetadata, next step) (outcome, error) {
	m.seen++
	m.progress()
	done, err := m.try(ctx, of, obj, next)
	name := nameOf(of.GroupResource(), obj.Namespace, obj.Name)
	switch {
	case err != nil && (ctx.Err() != nil || !isAnswer(err)):
		return done, err
	case err != nil:
		m.fail(name, err)
		return refused, nil
	case done == gone:
		fmt.Fprintf(m.notes, "note: %s: it is gone\n", name)
	}
	return done, nil
}

// fail notes that the command could not do what it should with an object.
func (m *mover) fail(name string, err error) {
	m.failed++
	fmt.Fprintf(m.notes, "error: %s: %v\n", name, err)
}

func (m *mover) try(ctx context.Context, of kind, obj *metav1.PartialObjectMetadata, next step) (outcome, error) {
	for attempt := 1; ; attempt++ {
		fields, err := next(obj)
		if err != nil || fields == nil {
			return unchanged, err
		}
		if !m.dryRun.Sends() {
			return changed, nil
		}
		if err := m.limit.Wait(ctx); err != nil {
			return unchanged, err
		}
		err = m.patch(ctx, of, obj, fields)
		switch {
		case err == nil:
			return changed, nil
		case apierrors.IsNotFound(err):
			return gone, nil
		case !apierrors.IsConflict(err) || attempt == maxConflicts:
			return refused, err
		}
		obj, err = m.get(ctx, of, obj.Namespace, obj.Name)
		if apierrors.IsNotFound(err) {
			return gone, nil
		}
		if err != nil {
			return refused, err
		}
	}
}

// get reads the metadata of an object.
func (m *mover) get(ctx context.Context, of kind, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	if err := m.limit.Wait(ctx); err != nil {
		return nil, err
	}
	return of.client(m.metadata, namespace).Get(ctx, name, metav1.GetOptions{})
}

// patch sends the managed fields. The UID and the resourceVersion make the server answer 409 if the object is another one or has
// changed.
func (m *mover) patch(ctx context.Context, of kind, obj *metav1.PartialObjectMetadata, fields *managers.Fields) error {
	body, err := json.Marshal([]operation{
		{"replace", "/metadata/managedFields", fields.Entries()},
		{"replace", "/metadata/uid", obj.UID},
		{"replace", "/metadata/resourceVersion", obj.ResourceVersion},
	})
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{FieldManager: transferManager}
	if m.dryRun == command.DryRunServer {
		options.DryRun = []string{metav1.DryRunAll}
	}
	_, err = of.client(m.metadata, obj.Namespace).Patch(ctx, obj.Name, types.JSONPatchType, body, options)
	return err
}

// progress writes from time to time how far the command is.
func (m *mover) progress() {
	if time.Since(m.shown) < progressInterval {
		return
	}
	m.shown = time.Now()
	done := "changed"
	if m.dryRun.IsSet() {
		done = "would change"
	}
	fmt.Fprintf(m.notes, "read %d objects, %s %d\n", m.seen, done, m.changed)
}

// end writes the last line of the command. It returns an error if objects were not changed as asked.
func (m *mover) end(verb string) error {
	left := ""
	if m.left > 0 {
		left = fmt.Sprintf("; %s not moved: other version", count(m.left, "field"))
	}
	fmt.Fprintf(m.out, "%s %s of %s%s%s\n", verb, count(m.fields, "field"), count(m.changed, "object"), left, m.dryRun.Suffix())
	switch {
	case m.failed == 0:
		return nil
	case m.dryRun.IsSet():
		return command.Refused(fmt.Errorf("%s not tried as asked: see above", count(m.failed, "object")))
	}
	return command.Refused(fmt.Errorf("%s not changed as asked: see above; the same command tries them again", count(m.failed, "object")))
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// interrupted adds to an error what the user can do: an answer did not come, or the user has stopped the command.
func interrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		return command.Interrupted(errors.New("stopped: run the same command again to go on"))
	}
	return fmt.Errorf("%w: run the same command again to go on", err)
}
