package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/projection"
)

// refresh brings one volume up to date.
type refresh struct {
	agent  *Agent
	pod    *corev1.Pod
	volume *corev1.Volume
	record *Record
	owner  VolumeOwner
	log    klog.Logger
	// before is a copy of the record before publish changed it.
	before *Record

	// recordChanged is true if the record has to be saved.
	recordChanged bool
	// retry is true if the volume waits for a change that no watch reports.
	retry bool
	// after is the time until a token of the volume has to be replaced or a hook has to
	// run again; 0 means never.
	after time.Duration
}

// errOnDisk is returned for a volume with Secrets or tokens if the root is on a disk
// and --secrets-on-disk is not set.
var errOnDisk = errors.New("secret content is only kept in memory, and the root of this agent is on a disk: " +
	"use a root on tmpfs, or --secrets-on-disk")

func (r *refresh) run(ctx context.Context) error {
	a := r.agent
	references := projection.References(r.volume)
	tokens := projection.Tokens(r.volume)
	next := Volume{Secret: isSecret(references, len(tokens)), Tokens: map[string]Token{}}
	if bool(next.Secret) && a.refuseSecrets {
		return errOnDisk
	}
	sources := projection.Sources{
		Objects: map[projection.Reference]map[string][]byte{}, Tokens: map[string]string{}, Allocatable: allocatable(),
		Group: r.owner.Group,
	}
	var objects []*Object
	for _, reference := range references {
		ref := Ref{reference.Kind, r.pod.Namespace, reference.Name}
		next.Sources = append(next.Sources, ref)
		object, err := a.resolver.resolve(ctx, lookup{
			ref: ref, pod: cache.MetaObjectToName(r.pod), uid: r.pod.UID, previous: r.record.source(ref),
		})
		if err != nil {
			return err
		}
		if object == nil {
			r.retry = r.retry || !a.resolver.watcher.seesNewObjects()
			continue
		}
		sources.Objects[reference] = object.Data
		objects = append(objects, object)
	}
	if projection.UsesTrustBundles(r.volume) {
		bundles, err := a.trust.bundles()
		if err != nil {
			return err
		}
		sources.TrustBundles = bundles
	}
	tokenErr := r.tokens(ctx, tokens, &next, sources.Tokens)
	payload, err := projection.Collect(r.pod, r.volume, sources)
	if err != nil {
		// Retry if a token is missing: no watch tells the agent when the server can
		// issue it. Also retry if an object is immutable, because it may lack a key
		// that the volume needs. The agent does not watch immutable objects, so it
		// would not see that the object is deleted and created again with the key.
		// The retry reads the new object: the record does not name the old one,
		// because its content was never written for this pod.
		r.retry = r.retry || tokenErr != nil || slices.ContainsFunc(objects, func(o *Object) bool { return o.Immutable })
		return errors.Join(err, tokenErr)
	}
	next.Size = payloadSize(payload)
	if err := a.space.reserve(spacePart{r.pod.Namespace, r.pod.UID, r.volume.Name}, next.Size); err != nil {
		return err
	}
	next.Digest = a.digest.sum(payload, next.Secret)
	if err := r.write(content{Volume: next, payload: payload, objects: objects}); err != nil {
		return err
	}
	return tokenErr
}

// setSources updates the sources in the record. named are all objects that the volume
// references; objects are those that exist.
func (r *refresh) setSources(named []Ref, objects []*Object) {
	for _, ref := range named {
		at := slices.IndexFunc(objects, func(o *Object) bool { return o.Ref == ref })
		if at < 0 {
			r.recordChanged = r.record.dropSource(ref) || r.recordChanged
			continue
		}
		object := objects[at]
		r.recordChanged = r.record.setSource(Source{
			Ref: ref, UID: object.UID, ResourceVersion: object.ResourceVersion,
			Immutable: object.Immutable && r.agent.resolver.pins, Digest: r.agent.digest.object(object),
		}) || r.recordChanged
	}
}

// write publishes the content, unless the check hook has not accepted it yet.
func (r *refresh) write(next content) error {
	a, name := r.agent, r.volume.Name
	current, err := a.Volumes.Read(r.pod.UID, name)
	if err == nil && current.Equal(next.payload) {
		a.hookQueue.forget(r.hookCall(checkAnnotation, next.Volume).id()) // a check of other content is outdated
		return r.publish(next)
	}
	if earlier := r.acceptedBefore(next); earlier != nil {
		return r.publish(*earlier)
	}
	err = r.check(next)
	if err == nil {
		return r.publish(next)
	}
	if published := r.record.Volumes[name]; published.Notify {
		// The on-change hook has yet to run for the files that are published.
		err = errors.Join(err, r.notify(published))
	}
	return err
}

// publish saves the record with the new state of the volume, then replaces the files and runs the
// on-change hook.
func (r *refresh) publish(published content) error {
	a, name := r.agent, r.volume.Name
	r.before = r.record.clone()
	r.setSources(published.Sources, published.objects)
	next := published.Volume
	before, had := r.record.Volumes[name]
	next.Projected, next.Notify, next.Previous = before.Projected, before.Notify, before.Previous
	if !had || before.Digest != next.Digest {
		next.Projected = a.Clock.Now().UTC()
		next.Notify = a.hooks.nameFor(r.pod, onChangeAnnotation) != ""
		next.Previous = ""
		if current, err := a.Volumes.Read(r.pod.UID, name); err == nil {
			next.Previous = a.digest.sum(current, next.Secret)
		}
		r.recordChanged = true
	}
	if r.recordChanged || !maps.EqualFunc(before.Tokens, next.Tokens, Token.equal) {
		r.record.Volumes[name] = next
		if err := a.saveRecord(r.record); err != nil {
			return err
		}
	}
	changed, err := a.Volumes.Write(r.owner, name, published.payload)
	if changed {
		a.metrics.changes.Inc()
		r.logChange(next)
		r.observeLag(published.objects)
		a.hookQueue.forget(r.hookCall(checkAnnotation, next).id())
	}
	if err != nil && !changed {
		// The files were not replaced, so the pod keeps its previous sources and pins.
		*r.record = *r.before
		return errors.Join(err, a.saveRecord(r.record))
	}
	if err == nil {
		err = a.Volumes.Link(r.owner, name)
	}
	if err != nil || !next.Notify {
		return err
	}
	return r.notify(next)
}

// notify runs the on-change hook, and saves that it has run.
func (r *refresh) notify(next Volume) error {
	a := r.agent
	call := r.hookCall(onChangeAnnotation, next)
	call.path = a.Volumes.Path(r.pod.UID, r.volume.Name)
	if a.hooks.nameFor(r.pod, onChangeAnnotation) != "" {
		if err := a.hookQueue.result(call, nil); err != nil {
			return err
		}
	}
	next.Notify = false
	r.record.Volumes[r.volume.Name] = next
	if err := a.saveRecord(r.record); err != nil {
		return err
	}
	a.hookQueue.forget(call.id())
	return nil
}

func (r *refresh) hookCall(annotation string, next Volume) hookCall {
	return hookCall{
		pod: r.pod, volume: r.volume.Name, annotation: annotation,
		digest: next.Digest, secret: next.Secret, group: r.owner.Group,
	}
}

// logChange logs one line for new files of a volume, with the objects that they were made from.
func (r *refresh) logChange(next Volume) {
	var objects []string
	for _, ref := range next.Sources {
		if source := r.record.source(ref); source != nil {
			objects = append(objects, fmt.Sprintf("%s uid=%s resourceVersion=%s digest=%s", ref, source.UID, source.ResourceVersion, source.Digest))
		}
	}
	r.log.Info("a volume changed", "node", r.agent.Name, "pod", r.owner.Name.String(), "uid", r.owner.UID, "volume", r.volume.Name,
		"digest", next.Digest, "objects", objects)
}

// observeLag measures the time from the arrival of the last object that changed to now. It
// measures nothing for a new volume: its objects may have been watched before.
func (r *refresh) observeLag(objects []*Object) {
	var last time.Time
	for _, object := range objects {
		had := r.before.source(object.Ref)
		if had != nil && had.ResourceVersion != object.ResourceVersion && object.received.After(last) {
			last = object.received
		}
	}
	if !last.IsZero() {
		r.agent.metrics.lag.Observe(time.Since(last).Seconds())
	}
}
