package node

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/projection"
)

// refresh makes one volume what it should be.
type refresh struct {
	agent  *Agent
	pod    *corev1.Pod
	volume *corev1.Volume
	record *Record
	// before is the record without what this refresh is to change.
	before *Record

	// news says that the record has something to save.
	news bool
	// look asks for another look at what may change without being seen.
	look bool
	// again is when a token of the volume is due.
	again time.Duration
}

var errOnDisk = errors.New("secret content is only kept in memory, and the root of this agent is on a disk: use a root on tmpfs, or --secrets-on-disk")

func (r *refresh) run(ctx context.Context) error {
	a := r.agent
	references := projection.References(r.volume)
	tokens := projection.Tokens(r.volume)
	next := Volume{Secret: isSecret(references, len(tokens)), Tokens: map[string]Token{}}
	if bool(next.Secret) && a.onDisk {
		return errOnDisk
	}
	sources := projection.Sources{Objects: map[projection.Reference]map[string][]byte{}, Tokens: map[string]string{}, Allocatable: allocatable()}
	var objects []*Object
	for _, reference := range references {
		ref := Ref{reference.Kind, r.pod.Namespace, reference.Name}
		next.Sources = append(next.Sources, ref)
		object, err := a.resolver.resolve(ctx, need{
			ref: ref, pod: cache.MetaObjectToName(r.pod), uid: r.pod.UID, had: r.record.source(ref),
		})
		if err != nil {
			return err
		}
		if object == nil {
			r.look = r.look || !a.resolver.follower.sees()
			continue
		}
		sources.Objects[reference] = object.Data
		objects = append(objects, object)
	}
	tokenErr := r.tokens(ctx, tokens, &next, sources.Tokens)
	payload, err := projection.Collect(r.pod, r.volume, sources)
	if err != nil {
		// A token that was not issued is seen by nobody but who asks for it again.
		// An immutable object that lacks something is mended by another of its
		// name. The pod has not started with it and is not pinned to it.
		r.look = r.look || tokenErr != nil || slices.ContainsFunc(objects, func(o *Object) bool { return o.Immutable })
		return errors.Join(err, tokenErr)
	}
	r.before = r.record.clone()
	r.setSources(next.Sources, objects)
	next.Digest = a.digest.sum(payload, next.Secret)
	if err := r.write(ctx, next, payload); err != nil {
		return err
	}
	return tokenErr
}

// setSources remembers what the volume is made of, of all that it names.
func (r *refresh) setSources(named []Ref, objects []*Object) {
	for _, ref := range named {
		at := slices.IndexFunc(objects, func(o *Object) bool { return o.Ref == ref })
		if at < 0 {
			r.news = r.record.dropSource(ref) || r.news
			continue
		}
		object := objects[at]
		r.news = r.record.setSource(Source{
			Ref: ref, UID: object.UID, ResourceVersion: object.ResourceVersion,
			Immutable: object.Immutable && r.agent.resolver.pins, Digest: r.agent.digest.object(object),
		}) || r.news
	}
}

// write remembers what the volume is to be, and then makes it that.
func (r *refresh) write(ctx context.Context, next Volume, payload projection.Payload) error {
	a, name := r.agent, r.volume.Name
	before, had := r.record.Volumes[name]
	next.Projected, next.Notify, next.Previous = before.Projected, before.Notify, before.Previous
	if !had || before.Digest != next.Digest {
		next.Projected = a.Clock.Now().UTC()
		next.Notify = a.hooks.named(r.pod, onChange) != ""
		next.Previous = ""
		if current, err := a.Volumes.Read(r.pod.UID, name); err == nil {
			next.Previous = a.digest.sum(current, next.Secret)
		}
		r.news = true
	}
	if r.news || !maps.EqualFunc(before.Tokens, next.Tokens, Token.equal) {
		r.record.Volumes[name] = next
		if err := a.commit(r.record); err != nil {
			return err
		}
	}
	var check func(string) error
	if a.hooks.named(r.pod, checkFirst) != "" {
		check = func(set string) error { return a.hooks.run(ctx, checkFirst, r.pod, set) }
	}
	changed, err := a.Volumes.Write(r.pod.UID, name, payload, check)
	if changed {
		a.metrics.changes.Inc()
	}
	if err != nil && !changed {
		// The pod has what it had, and is not pinned to anything else.
		*r.record = *r.before
		return errors.Join(err, a.commit(r.record))
	}
	if err != nil || !next.Notify {
		return err
	}
	if err := a.hooks.run(ctx, onChange, r.pod, a.Volumes.Path(r.pod.UID, name)); err != nil {
		return err
	}
	next.Notify = false
	r.record.Volumes[name] = next
	return a.commit(r.record)
}
