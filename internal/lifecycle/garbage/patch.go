package garbage

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/retry"

	"holdfast.dev/holdfast/internal/failpoint"
)

// metadataPatch is a merge patch. The server rejects it if the object has another UID or
// resourceVersion.
type metadataPatch struct {
	Metadata struct {
		UID             types.UID                `json:"uid"`
		ResourceVersion string                   `json:"resourceVersion"`
		OwnerReferences *[]metav1.OwnerReference `json:"ownerReferences,omitempty"`
		Finalizers      *[]string                `json:"finalizers,omitempty"`
	} `json:"metadata"`
}

func (c *collector) objects(o *object) metadata.ResourceInterface {
	return c.config.Metadata.Resource(o.kind.GroupVersionResource).Namespace(o.namespace)
}

// changeOwners changes the owner references of an object. If the object has changed since
// it was observed, changeOwners reads it and tries again.
func (c *collector) changeOwners(
	ctx context.Context, o *object, change func([]metav1.OwnerReference) []metav1.OwnerReference,
) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		refs := change(slices.Clone(o.owners))
		if len(refs) == 0 {
			refs = []metav1.OwnerReference{}
		}
		var patch metadataPatch
		patch.Metadata.OwnerReferences = &refs
		if err := failpoint.Fail("garbage:owners"); err != nil {
			return err
		}
		err := c.patch(ctx, o, patch)
		if !apierrors.IsConflict(err) {
			return err
		}
		now, getErr := c.read(ctx, o)
		if getErr != nil {
			return getErr
		}
		o = newObject(o.kind, now)
		return err
	})
	return ignoreNotFound(fmt.Sprintf("change owners of %s %s", o.kind.kind, o.name), err)
}

// dropFinalizer removes a finalizer from an object.
func (c *collector) dropFinalizer(ctx context.Context, o *object, finalizer string) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		now, err := c.read(ctx, o)
		if err != nil || !slices.Contains(now.Finalizers, finalizer) {
			return err
		}
		if err := failpoint.Fail("garbage:finalizer"); err != nil {
			return err
		}
		finalizers := slices.DeleteFunc(now.Finalizers, func(found string) bool { return found == finalizer })
		var patch metadataPatch
		patch.Metadata.Finalizers = &finalizers
		return c.patch(ctx, newObject(o.kind, now), patch)
	})
	return ignoreNotFound(fmt.Sprintf("remove finalizer from %s %s", o.kind.kind, o.name), err)
}

// read reads an object from the server. It returns a NotFound error if the object of this
// name has another UID.
func (c *collector) read(ctx context.Context, o *object) (*metav1.PartialObjectMetadata, error) {
	now, err := c.objects(o).Get(ctx, o.name, metav1.GetOptions{})
	if err == nil && now.UID != o.uid {
		err = apierrors.NewNotFound(o.kind.GroupResource(), o.name)
	}
	return now, err
}

func (c *collector) patch(ctx context.Context, o *object, patch metadataPatch) error {
	patch.Metadata.UID, patch.Metadata.ResourceVersion = o.uid, o.version
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = c.objects(o).Patch(ctx, o.name, types.MergePatchType, data, metav1.PatchOptions{})
	return err
}

// ignoreNotFound returns nil if the error says that the object does not exist. It wraps
// other errors with the name of the operation.
func ignoreNotFound(operation string, err error) error {
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("%s: %w", operation, err)
}
