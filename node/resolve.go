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

	"holdfast.dev/holdfast/projection"
)

// metadataOnly asks the server to leave the content out.
const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// resolver finds the object that a pod is to have for a name.
type resolver struct {
	client   kubernetes.Interface
	state    State
	digest   digester
	follower follower
	// pins says that immutable objects are pinned; otherwise all are followed.
	pins bool

	mu sync.Mutex
	// pinned are the immutable objects in use, each with the pods that have it.
	pinned map[types.UID]*pinnedObject
	// reading has a lock for each name that is being read, so that it is read
	// once however many pods come at the same time.
	reading map[Ref]*reading
}

type pinnedObject struct {
	ref    Ref
	digest string
	pods   map[types.UID]bool
}

type reading struct {
	sync.Mutex
	users int
}

// need is what a pod wants to have.
type need struct {
	ref Ref
	pod cache.ObjectName
	uid types.UID
	// had is what the pod has got before, or nil.
	had *Source
}

// resolve returns the object, or nil if there is none.
func (r *resolver) resolve(ctx context.Context, n need) (*Object, error) {
	if n.had != nil && n.had.Immutable && r.pins {
		r.follower.unfollow(n.ref, n.pod)
		return r.recall(ctx, n)
	}
	object, err := r.find(ctx, n)
	if err != nil {
		return nil, err
	}
	if object != nil && object.Immutable && r.pins {
		r.follower.unfollow(n.ref, n.pod)
	} else {
		r.follower.follow(n.ref, n.pod)
	}
	return object, nil
}

// find returns the object that has the name now.
func (r *resolver) find(ctx context.Context, n need) (*Object, error) {
	object, known := r.follower.current(n.ref)
	if known && (object == nil || !older(object, n.had)) {
		return object, nil
	}
	unlock := r.lock(n.ref)
	defer unlock()
	// Somebody on this node may have the content already.
	if r.pins && r.isPinned(n.ref) {
		uid, err := r.uidOf(ctx, n.ref)
		if err != nil || uid == "" {
			return nil, err
		}
		if object := r.pin(n, uid); object != nil {
			return object, nil
		}
	}
	object, err := r.read(ctx, n.ref)
	if err != nil || object == nil {
		return nil, err
	}
	if object.Immutable && r.pins {
		if err := r.keep(n, object); err != nil {
			return nil, err
		}
	}
	return object, nil
}

// recall returns the very object that a pod is pinned to. It is not asked for
// again unless its content got lost here.
func (r *resolver) recall(ctx context.Context, n need) (*Object, error) {
	if object := r.pin(n, n.had.UID); object != nil {
		return object, nil
	}
	unlock := r.lock(n.ref)
	defer unlock()
	object, err := r.read(ctx, n.ref)
	switch {
	case err != nil:
		return nil, err
	case object == nil || object.UID != n.had.UID || r.digest.object(object) != n.had.Digest:
		return nil, &lostError{n.ref, n.had.UID}
	}
	return object, r.keep(n, object)
}

// lostError says that content a pod is pinned to is nowhere any more, but in
// the files that it has.
type lostError struct {
	ref Ref
	uid types.UID
}

// Error implements error.
func (e *lostError) Error() string {
	return fmt.Sprintf("%s with UID %s, which this pod started with, is gone: the files stay as they are", e.ref, e.uid)
}

// read reads an object from the server; nil says that there is none.
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

// uidOf reads the UID of an object and nothing else; "" says that there is none.
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

// older reports whether an object is an older version of what a pod has: the
// watch is behind what was read.
func older(object *Object, had *Source) bool {
	if had == nil || had.UID != object.UID {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(object.ResourceVersion, had.ResourceVersion)
	return err == nil && order < 0
}
