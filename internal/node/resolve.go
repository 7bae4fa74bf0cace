package node

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/projection"
)

// metadataOnly is an Accept header that asks the server for the metadata of an object
// without its content.
const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// resolver decides which version of an object a pod gets.
type resolver struct {
	client  kubernetes.Interface
	state   State
	digest  digester
	space   *space
	watcher objectWatcher
	// pins is true if pods are pinned to immutable objects. Otherwise the agent
	// watches all objects.
	pins bool

	mu sync.Mutex
	// pinned holds the immutable objects in use, by UID.
	pinned map[types.UID]*pinnedObject
	// readLocks holds a lock for each object that is being read, so that the agent
	// reads it once even if several pods need it at the same time.
	readLocks map[Ref]*readLock
}

// pinnedObject is a saved object with the pods that are pinned to it.
type pinnedObject struct {
	ref    Ref
	digest string
	pods   map[types.UID]bool
}

// readLock is removed from resolver.readLocks when it has no more users.
type readLock struct {
	sync.Mutex
	users int
}

// lookup is a reference of a pod to an object.
type lookup struct {
	ref Ref
	pod cache.ObjectName
	uid types.UID
	// previous is the version of the object that the pod has now, or nil.
	previous *Source
}

// resolve returns the object that the pod is pinned to. If it is pinned to none,
// resolve returns the current object of the name, or nil if none exists. It also
// starts or stops watching the object for the pod.
func (r *resolver) resolve(ctx context.Context, n lookup) (*Object, error) {
	if n.previous != nil && n.previous.Immutable && r.pins {
		r.watcher.unwatch(n.ref, n.pod)
		return r.resolvePinned(ctx, n)
	}
	object, err := r.resolveByName(ctx, n)
	if err != nil {
		return nil, err
	}
	if object != nil && object.Immutable && r.pins {
		r.watcher.unwatch(n.ref, n.pod)
	} else {
		r.watcher.watch(n.ref, n.pod)
	}
	return object, nil
}

// resolveByName returns the object that exists under the name now, and pins the pod
// to it if it is immutable.
func (r *resolver) resolveByName(ctx context.Context, n lookup) (*Object, error) {
	object, known := r.watcher.current(n.ref)
	if known && (object == nil || !older(object, n.previous)) {
		return object, nil
	}
	unlock := r.lock(n.ref)
	defer unlock()
	// If another pod of this node is pinned to an object of this name, reading the UID
	// shows whether the saved content is still the current one.
	if r.pins && r.isPinned(n.ref) {
		uid, err := r.uidOf(ctx, n.ref)
		if err != nil || uid == "" {
			return nil, err
		}
		if object := r.pinSaved(n, uid); object != nil {
			return object, nil
		}
	}
	object, err := r.read(ctx, n.ref)
	if err != nil || object == nil {
		return nil, err
	}
	if object.Immutable && r.pins {
		if err := r.pinNew(n, object); err != nil {
			return nil, err
		}
	}
	return object, nil
}

// resolvePinned returns the object that the pod is pinned to. It reads the object
// from the server only if the saved content is missing or damaged.
func (r *resolver) resolvePinned(ctx context.Context, n lookup) (*Object, error) {
	if object := r.pinSaved(n, n.previous.UID); object != nil {
		return object, nil
	}
	unlock := r.lock(n.ref)
	defer unlock()
	object, err := r.read(ctx, n.ref)
	switch {
	case err != nil:
		return nil, err
	case object == nil || object.UID != n.previous.UID || r.digest.object(object) != n.previous.Digest:
		return nil, &lostError{n.ref, n.previous.UID}
	}
	return object, r.pinNew(n, object)
}

// lostError is returned when the object that a pod is pinned to is neither saved on
// this node nor on the server. Its content is then only in the files of the pod.
type lostError struct {
	ref Ref
	uid types.UID
}

// Error implements error.
func (e *lostError) Error() string {
	return fmt.Sprintf("%s with UID %s, which this pod started with, is gone: the files stay as they are", e.ref, e.uid)
}

// read reads an object from the server. It returns nil if there is none.
func (r *resolver) read(ctx context.Context, ref Ref) (*Object, error) {
	var obj any
	var err error
	if ref.Kind == projection.Secret {
		obj, err = r.client.CoreV1().Secrets(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	} else {
		obj, err = r.client.CoreV1().ConfigMaps(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	}
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ref, err)
	}
	return objectOf(obj), nil
}

// uidOf reads the UID of an object without its content. It returns "" if there is no
// such object.
func (r *resolver) uidOf(ctx context.Context, ref Ref) (types.UID, error) {
	data, err := r.client.CoreV1().RESTClient().Get().Namespace(ref.Namespace).Resource(resourceOf(ref.Kind)).Name(ref.Name).
		SetHeader("Accept", metadataOnly).Do(ctx).Raw()
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	var meta metav1.PartialObjectMetadata
	if err == nil {
		err = json.Unmarshal(data, &meta)
	}
	if err != nil {
		return "", fmt.Errorf("read metadata of %s: %w", ref, err)
	}
	return meta.UID, nil
}

// older reports whether object is an older version of the one that the pod has. This
// happens when the pod got it from a read and the watch is behind.
func older(object *Object, had *Source) bool {
	if had == nil || had.UID != object.UID {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(object.ResourceVersion, had.ResourceVersion)
	return err == nil && order < 0
}
