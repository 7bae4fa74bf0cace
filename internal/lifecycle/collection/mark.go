package collection

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/failpoint"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/series"
)

// longestRefusal is the longest time after which the controller tries again what the server has refused.
const longestRefusal = time.Hour

// mark marks an object to which no object has referred for long enough. It returns after which time the object is deleted.
func (c *controller) mark(ctx context.Context, o *object, st *state, start time.Time) (time.Duration, error) {
	if err := failpoint.Fail("collection:mark"); err != nil {
		return 0, err
	}
	since := start.UTC().Format(time.RFC3339)
	if err := c.write(ctx, o, st, map[string]any{series.UnusedSinceAnnotation: since}); err != nil {
		return c.refuse(o, st, "marked", err)
	}
	c.settle(o, st)
	st.marked, st.since, st.counted = c.Clock.Now(), since, start
	c.event(o, reasonUnused, fmt.Sprintf("no object has referred to it since %s: the server deletes it after %s, unless an object refers to it",
		since, st.marked.Add(c.AtLeast).UTC().Format(time.RFC3339)))
	return c.AtLeast, nil
}

// unmark removes the mark of an object that stays.
func (c *controller) unmark(ctx context.Context, o *object, st *state, why string) (time.Duration, error) {
	if err := c.write(ctx, o, st, map[string]any{series.UnusedSinceAnnotation: nil}); err != nil {
		return c.refuse(o, st, "unmarked", err)
	}
	st.marked, st.since, st.inherited = time.Time{}, "", false
	c.event(o, reasonUsed, "it is not deleted: "+why)
	return 0, nil
}

// write changes annotations of an object, null removes one. It fails with a conflict if the object has changed.
func (c *controller) write(ctx context.Context, o *object, st *state, annotations map[string]any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": o.UID, "resourceVersion": o.ResourceVersion, "annotations": annotations,
	}})
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{FieldManager: manager}
	var written metav1.Object
	if o.kind == references.ConfigMap {
		written, err = c.Client.CoreV1().ConfigMaps(o.Namespace).Patch(ctx, o.Name, types.MergePatchType, patch, options)
	} else {
		written, err = c.Client.CoreV1().Secrets(o.Namespace).Patch(ctx, o.Name, types.MergePatchType, patch, options)
	}
	if err != nil {
		return err
	}
	st.version = written.GetResourceVersion()
	return nil
}

// refuse handles the error of a write. If the object is gone, nothing is to do. If the server refuses the write, an Event says so, and the
// controller tries again later, each time after twice as long. After any other error, the queue tries again.
func (c *controller) refuse(o *object, st *state, done string, err error) (time.Duration, error) {
	switch {
	case apierrors.IsNotFound(err):
		return 0, nil
	case !isRefusal(err):
		return 0, err
	}
	c.tell(o, st, refused, reasonRefused, fmt.Sprintf("it cannot be %s: %v", done, err))
	wait := min(c.AtLeast<<min(st.refusals, 10), longestRefusal)
	st.refusals++
	return wait, nil
}

// isRefusal reports whether the server has refused a write, and would do so again.
func isRefusal(err error) bool {
	if keep.IsRefusal(err) {
		return true
	}
	status, ok := err.(apierrors.APIStatus)
	if !ok || apierrors.IsConflict(err) || apierrors.IsTooManyRequests(err) || apierrors.IsTimeout(err) {
		return false
	}
	code := status.Status().Code
	return code >= 400 && code < 500
}
