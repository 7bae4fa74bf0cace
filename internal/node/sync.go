package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/projection"
	"holdfast.dev/holdfast/internal/reconcile"
)

// outcome says when a pod has to be synced again.
type outcome struct {
	// retry is true if the pod has to be enqueued again, with backoff.
	retry bool
	// after, unless it is 0, is the time after which the pod has to be synced again.
	after time.Duration
}

// sync brings the files and records of the pods of this name up to date. The queue
// never runs it twice at the same time for one name.
func (a *Agent) sync(ctx context.Context, name cache.ObjectName) (outcome, error) {
	pod, err := a.getPod(name)
	if err != nil {
		return outcome{}, err
	}
	if pod == nil {
		a.setUses(name, podUses{})
		return outcome{}, a.removeOthers(ctx, name, "")
	}
	var result outcome
	switch {
	case pod.DeletionTimestamp != nil:
		result, err = a.syncTerminating(ctx, pod)
	case isFinished(pod):
		result, err = a.syncFinished(ctx, pod)
	default:
		result, err = a.refreshPod(ctx, pod)
	}
	if err == nil && a.isReady(pod) {
		err = a.removeOthers(ctx, name, pod.UID)
	}
	return result, err
}

// removeOthers removes the pods of this name with a record, except the one with this UID. They
// no longer exist. Their files stay until those of the pod that replaces them are ready, so
// that the links of this name always lead to files.
//
// After a start, the informer may have an old list, of a server that lags. So the agent asks
// the server first, and does not remove the pod that runs there now.
func (a *Agent) removeOthers(ctx context.Context, name cache.ObjectName, uid types.UID) error {
	others := slices.DeleteFunc(a.recordedUIDs(name), func(other types.UID) bool { return other == uid })
	if len(others) == 0 {
		return nil
	}
	current, err := a.storedUID(ctx, name)
	if err != nil {
		return err
	}
	if slices.Contains(others, current) {
		return reconcile.ErrNotYet
	}
	for _, other := range others {
		if err := a.removePod(name, other); err != nil {
			return err
		}
	}
	return nil
}

// storedUID returns the UID of the pod of this name that is bound to this node now, or nothing. A node may list its own pods, also those
// that do not exist any more.
func (a *Agent) storedUID(ctx context.Context, name cache.ObjectName) (types.UID, error) {
	pods, err := a.Client.CoreV1().Pods(name.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.Set{"spec.nodeName": a.Name, "metadata.name": name.Name}.AsSelector().String(),
	})
	if err != nil {
		return "", fmt.Errorf("read pod %s: %w", name, err)
	}
	if len(pods.Items) == 0 {
		return "", nil
	}
	return pods.Items[0].UID, nil
}

// isReady reports whether all volumes of a pod are up to date.
func (a *Agent) isReady(pod *corev1.Pod) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id := range a.failing {
		if id.pod == pod.UID {
			return false
		}
	}
	return true
}

// recordedUIDs returns the UIDs of all pods of this name that have a record. A pod
// that was deleted and created again has another UID.
func (a *Agent) recordedUIDs(name cache.ObjectName) []types.UID {
	a.mu.Lock()
	defer a.mu.Unlock()
	var uids []types.UID
	for uid, record := range a.records {
		if record.podName() == name {
			uids = append(uids, uid)
		}
	}
	return uids
}

// podUses are the objects that a pod uses.
type podUses struct {
	refs []Ref
	// trustBundles is true if the pod uses ClusterTrustBundles.
	trustBundles bool
}

// usesOf returns the objects that a pod uses.
func usesOf(pod *corev1.Pod) podUses {
	var uses podUses
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		for _, reference := range projection.References(volume) {
			uses.refs = append(uses.refs, Ref{reference.Kind, pod.Namespace, reference.Name})
		}
		uses.trustBundles = uses.trustBundles || projection.UsesTrustBundles(volume)
	}
	return uses
}

// setUses sets the objects that a pod uses. It stops watching, for this pod, the objects that
// the pod no longer uses.
func (a *Agent) setUses(name cache.ObjectName, uses podUses) {
	refs := sets.New(uses.refs...)
	var gone []Ref
	a.mu.Lock()
	for ref, pods := range a.users {
		if !pods[name] || refs.Has(ref) {
			continue
		}
		gone = append(gone, ref)
		delete(pods, name)
		if len(pods) == 0 {
			delete(a.users, ref)
		}
	}
	for ref := range refs {
		if a.users[ref] == nil {
			a.users[ref] = map[cache.ObjectName]bool{}
		}
		a.users[ref][name] = true
	}
	a.mu.Unlock()
	for _, ref := range gone {
		a.resolver.watcher.unwatch(ref, name)
	}
	a.trust.setUse(name, uses)
}

// isCurrent reports whether a pod has neither been deleted nor replaced.
func (a *Agent) isCurrent(pod *corev1.Pod) bool {
	current, err := a.getPod(cache.MetaObjectToName(pod))
	return err == nil && current != nil && current.UID == pod.UID && (current.DeletionTimestamp == nil) == (pod.DeletionTimestamp == nil)
}

// refreshPod brings every volume of a pod up to date and reports the result in the
// conditions of the pod.
func (a *Agent) refreshPod(ctx context.Context, pod *corev1.Pod) (outcome, error) {
	name := cache.MetaObjectToName(pod)
	record := a.copyRecord(name, pod.UID)
	a.setUses(name, usesOf(pod))
	round, owner := &round{agent: a}, a.ownerOf(pod)
	template := templateOf(pod, owner.Group)
	newTemplate := !apiequality.Semantic.DeepEqual(template, record.Template)
	record.Template = template
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if !projection.Supported(volume) {
			continue
		}
		if !a.isCurrent(pod) {
			// A pod with many missing objects takes minutes. Its next sync is enqueued already.
			return outcome{}, reconcile.ErrNotYet
		}
		r := refresh{
			agent: a, pod: pod, volume: volume, record: record, owner: owner, log: klog.FromContext(ctx), recordChanged: newTemplate,
		}
		err := r.run(ctx)
		if ctx.Err() != nil {
			return outcome{}, ctx.Err()
		}
		round.add(&r, err)
	}
	round.addUnsupported(pod)
	if round.canReport(a.loop.Retries(name)) {
		round.failed = append(round.failed, a.report(ctx, pod, record, round.problems))
	}
	return round.outcome, errors.Join(round.failed...)
}
