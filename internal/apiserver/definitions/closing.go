package definitions

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	apistorage "k8s.io/apiserver/pkg/storage"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/definition"
)

const (
	// Closed is the condition of a definition that closes its kind for creation, while a server reads the objects that may keep the
	// definition from being deleted. Each closing has another message.
	Closed apiextensionsv1.CustomResourceDefinitionConditionType = "ClosedForCreation"
	// ClosedForWrites is the condition of a definition that closes its kind for all writes, while a server reads the last objects that
	// may lose data by a change of the definition. Each closing has another message.
	ClosedForWrites apiextensionsv1.CustomResourceDefinitionConditionType = "ClosedForWrites"
)

const (
	// ClosedFor is how long a kind is closed on a server after it has seen one of the conditions, or a new message of it. The server that
	// wrote the condition removes it, unless it ends before.
	ClosedFor = 30 * time.Second
	// decideWithin is how long the server that closed a kind may take to decide. It is shorter than ClosedFor, because another server
	// may have seen the condition at once, and because etcd may store a write some seconds after its client has given up.
	decideWithin = 20 * time.Second
	// reopenWithin bounds the write that removes the condition, also if the client does not wait for it.
	reopenWithin = 5 * time.Second
)

// closings are the conditions that close a kind. Each has a reason, and the beginning of its message.
var closings = [...]apiextensionsv1.CustomResourceDefinitionCondition{
	{Type: Closed, Reason: "DeletionRequested", Message: "no object can be created while the server checks whether the definition can be deleted"},
	{Type: ClosedForWrites, Reason: "ChangeRequested", Message: "no object can be written while the server checks whether the definition can change"},
}

// ClosedBy returns what identifies the closing of a definition, "" if its kind is open.
func ClosedBy(crd *definition.CustomResourceDefinition) string {
	for i := range closings {
		if c := find(crd, closings[i].Type); c != nil {
			return c.Message
		}
	}
	return ""
}

// IsClosedForWrites reports whether a definition has the condition ClosedForWrites.
func IsClosedForWrites(crd *definition.CustomResourceDefinition) bool {
	return find(crd, ClosedForWrites) != nil
}

// find returns a condition of a definition, nil if it is not true.
func find(
	crd *definition.CustomResourceDefinition, wanted apiextensionsv1.CustomResourceDefinitionConditionType,
) *apiextensionsv1.CustomResourceDefinitionCondition {
	if c := definition.FindCondition(crd, wanted); c != nil && c.Status == apiextensionsv1.ConditionTrue {
		return c
	}
	return nil
}

// Reopen removes the conditions that close a kind.
func Reopen(crd *definition.CustomResourceDefinition) {
	for i := range closings {
		definition.RemoveCondition(crd, closings[i].Type)
	}
}

// Fence returns a context in which the stores write objects only if the stored definition has the given revision, or one that renew accepts,
// which may be nil.
func Fence(
	ctx context.Context, name string, revision int64, renew func(context.Context, *etcd.FenceError) (int64, bool),
) context.Context {
	return etcd.WithFence(ctx, etcd.Fence{Key: storage.KeyOf(Resource, name), Revision: revision, Renew: renew})
}

// closing is one closing of a kind.
type closing struct {
	by      string
	expires time.Time
	// version is the resourceVersion of the closed definition.
	version string
}

// close closes the kind of a definition with one of the two conditions.
func (r *Registry) close(
	ctx context.Context, name string, preconditions *apistorage.Preconditions, condition apiextensionsv1.CustomResourceDefinitionConditionType,
) (*closing, error) {
	mark := closings[slices.IndexFunc(closings[:], func(c apiextensionsv1.CustomResourceDefinitionCondition) bool { return c.Type == condition })]
	mark.Status, mark.Message = apiextensionsv1.ConditionTrue, fmt.Sprintf("%s (%s)", mark.Message, uuid.NewString())
	c := &closing{by: mark.Message, expires: time.Now().Add(decideWithin)}
	written, err := r.change(ctx, name, preconditions, func(crd *definition.CustomResourceDefinition) error {
		if crd.DeletionTimestamp != nil {
			return nil
		}
		if ClosedBy(crd) != "" && r.content.IsClosed(crd) {
			return Unavailable(name, "another request is about to change or delete it")
		}
		definition.SetCondition(crd, mark, metav1.Now())
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.version = written.ResourceVersion
	return c, nil
}

// open withdraws a closing. If the write fails, the kind opens by itself after ClosedFor.
func (r *Registry) open(ctx context.Context, name string, c *closing) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reopenWithin)
	defer cancel()
	written, err := r.change(ctx, name, nil, func(crd *definition.CustomResourceDefinition) error {
		if ClosedBy(crd) == c.by {
			Reopen(crd)
		}
		return nil
	})
	if err == nil {
		r.content.Settle(ctx, written)
	}
}

// end checks that a closing still holds, and removes its condition from the definition.
func (c *closing) end(crd *definition.CustomResourceDefinition) error {
	if c == nil {
		return nil
	}
	err := c.check(crd)
	if err == nil {
		Reopen(crd)
	}
	return err
}

// check checks that a closing still holds. It may be nil.
func (c *closing) check(crd *definition.CustomResourceDefinition) error {
	if c != nil && (ClosedBy(crd) != c.by && crd.DeletionTimestamp == nil || time.Now().After(c.expires)) {
		return Unavailable(crd.Name, "its objects could not be read in time")
	}
	return nil
}

// change changes a stored definition.
func (r *Registry) change(
	ctx context.Context, name string, conditions *apistorage.Preconditions, change func(*definition.CustomResourceDefinition) error,
) (*definition.CustomResourceDefinition, error) {
	return changeStored(ctx, r.Store, name, conditions, change)
}

// Change changes a stored definition, below admission and validation.
func Change(ctx context.Context, store *genericregistry.Store, name string, change func(*definition.CustomResourceDefinition) error) error {
	_, err := changeStored(ctx, store, name, nil, change)
	return err
}

func changeStored(
	ctx context.Context, store *genericregistry.Store, name string, conditions *apistorage.Preconditions,
	change func(*definition.CustomResourceDefinition) error,
) (*definition.CustomResourceDefinition, error) {
	key, err := store.KeyFunc(ctx, name)
	if err != nil {
		return nil, err
	}
	out := &definition.CustomResourceDefinition{}
	update := storage.Update(func(current runtime.Object) (runtime.Object, error) {
		crd, ok := current.(*definition.CustomResourceDefinition)
		if !ok {
			return nil, fmt.Errorf("unexpected object %T", current)
		}
		return crd, change(crd)
	})
	if err := store.Storage.GuaranteedUpdate(ctx, key, out, false, conditions, update, false, nil); err != nil {
		return nil, storage.Error(err, Resource, name)
	}
	return out, nil
}

// Unavailable returns an error with status 503 about a definition. Clients of Kubernetes send the request again by themselves.
func Unavailable(name, reason string) error {
	err := apierrors.NewServiceUnavailable(fmt.Sprintf("%s %q: %s; try again", Resource, name, reason))
	err.ErrStatus.Details = &metav1.StatusDetails{Group: Resource.Group, Kind: Resource.Resource, Name: name, RetryAfterSeconds: 1}
	return err
}
