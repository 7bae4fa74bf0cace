package collection

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/failpoint"
	"holdfast.dev/holdfast/internal/reconcile"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/series"
)

// turn is after which time the controller tries again to delete an object while many others are deleted.
const turn = time.Second

// collect deletes a marked object, if the stored objects do not refer to it.
func (c *controller) collect(ctx context.Context, o *object, st *state) (time.Duration, error) {
	if !c.memory.begin(o.key(), c.Clock.Now()) {
		return turn, nil
	}
	content, err := c.read(ctx, o)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	// The memory is stored first. Otherwise a server that is killed after the delete would collect the object again.
	if !c.memory.remember(o.key(), o.UID, content) {
		return 0, nil // the memory enqueues the object when it is stored
	}
	fenced, unreferenced, err := c.Index.Unreferenced(ctx, o.kind, o.Namespace, o.Name)
	if err != nil {
		return 0, err
	}
	if !unreferenced {
		c.memory.end(o.key())
		st.restarted = c.Clock.Now() // the index does not know it yet
		return c.leave(ctx, o, st, referenced)
	}
	if err := failpoint.Fail("collection:delete"); err != nil {
		return 0, err
	}
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &o.UID, ResourceVersion: &o.ResourceVersion}}
	if o.kind == references.ConfigMap {
		err = c.Client.CoreV1().ConfigMaps(o.Namespace).Delete(fenced, o.Name, options)
	} else {
		err = c.Client.CoreV1().Secrets(o.Namespace).Delete(fenced, o.Name, options)
	}
	if err != nil {
		return c.refuse(o, st, "deleted", err)
	}
	failpoint.Reach("collection:deleted")
	c.settle(o, st)
	c.Metrics.collected.WithLabelValues(o.kind.String()).Inc()
	c.event(o, reasonCollected, "no object has referred to it since "+st.since+": the server has deleted it")
	return 0, nil
}

// read returns the content of an object. The error is reconcile.ErrNotYet if the informer has not seen its last change.
func (c *controller) read(ctx context.Context, o *object) (content, error) {
	var found content
	var meta metav1.ObjectMeta
	if o.kind == references.ConfigMap {
		live, err := c.Client.CoreV1().ConfigMaps(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
		if err != nil {
			return content{}, err
		}
		meta, found = live.ObjectMeta, contentOfConfigMap(live)
	} else {
		live, err := c.Client.CoreV1().Secrets(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
		if err != nil {
			return content{}, err
		}
		meta, found = live.ObjectMeta, contentOfSecret(live)
	}
	if meta.UID != o.UID || meta.ResourceVersion != o.ResourceVersion {
		return content{}, reconcile.ErrNotYet
	}
	return found, nil
}

// isRecreated reports whether an object with the same name and content was collected before. It then gets an annotation, so that the controller
// knows it when the memory has forgotten it.
func (c *controller) isRecreated(ctx context.Context, o *object) (bool, error) {
	if !c.memory.hasName(o.key(), o.UID) {
		return false, nil
	}
	found, err := c.read(ctx, o)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil || !c.memory.hasContent(o.key(), o.UID, found) {
		return false, err
	}
	st := c.stateOf(o)
	now := c.Clock.Now().UTC().Format(time.RFC3339)
	if err := c.write(ctx, o, st, map[string]any{series.RecreatedAnnotation: now}); err != nil {
		_, err = c.refuse(o, st, "marked as recreated", err)
		return true, err
	}
	c.settle(o, st)
	c.event(o, reasonRecreated, "it was created again, with the same content, after the server had deleted it because no object referred to it: "+
		"the server does not delete it again")
	return true, nil
}

// content is the content of an object: texts, in an order that depends on nothing else.
type content [][]byte

func contentOfConfigMap(configMap *corev1.ConfigMap) content {
	found := content{}
	found.add(configMap.BinaryData)
	data := make(map[string][]byte, len(configMap.Data))
	for name, text := range configMap.Data {
		data[name] = []byte(text)
	}
	found.add(data)
	return found
}

func contentOfSecret(secret *corev1.Secret) content {
	found := content{[]byte(secret.Type)}
	found.add(secret.Data)
	return found
}
