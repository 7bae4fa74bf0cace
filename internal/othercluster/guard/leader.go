package guard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/native/judgement"
	"holdfast.dev/holdfast/internal/othercluster/webhook"
	"holdfast.dev/holdfast/internal/policy"
)

const (
	// writeInterval is the interval at which the leader writes the configuration again, in case the authority was replaced.
	writeInterval = 10 * time.Second
	// rewritePause is the shortest time between two writes because another client has changed or deleted the configuration. The
	// client may do so again and again, and the watch may be behind the last write.
	rewritePause = time.Second
)

// leader writes the webhook configuration and the status of the policies.
type leader struct {
	config Config
	server *connection.Connection
	rules  *tracker
	// live is the webhook configuration of the API server, and written the resourceVersion that it had after the last write.
	live    *observed
	written string
	// accepted are the authorities that the API server accepts, bundle those in the last configuration that this leader wrote, and
	// authority is the last one that could be read.
	accepted          webhook.Authorities
	bundle, authority []byte
	// wake has a value if the keys of the webhook have changed.
	wake <-chan struct{}
	// events records Events about definitions.
	events *events
	tokens *tokens
	// told are the problems of definitions that this leader has recorded Events about.
	told map[string]string
	// kept are the namespaces and definitions that hold kept objects. searched says of each source of rules
	// no-delete, by its key, why the namespaces of its objects are not among them, and is empty if they are.
	kept     *known
	searched map[string]string
	// auditor audits the cluster.
	auditor auditor
}

// run writes after each change of the table, after a change of the configuration by another client, and every writeInterval, until
// ctx ends.
func (l *leader) run(ctx context.Context) error {
	ticker := time.NewTicker(writeInterval)
	defer ticker.Stop()
	var audits sync.WaitGroup
	defer audits.Wait()
	start := sync.OnceFunc(func() { audits.Go(func() { l.auditor.run(ctx) }) })
	for ctx.Err() == nil {
		current, changed := l.rules.latest()
		l.announce(current)
		if err := l.write(ctx, current); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "webhook configuration is not written")
		}
		start() // the first audit needs the configuration
		l.wait(ctx, changed, ticker.C)
	}
	return nil
}

// wait waits until the configuration has to be written again.
func (l *leader) wait(ctx context.Context, changed <-chan struct{}, tick <-chan time.Time) {
	wrote := time.Now()
	for {
		found, known, next := l.live.latest()
		var foreign <-chan time.Time
		if known && found.ResourceVersion != l.written {
			foreign = time.After(time.Until(wrote.Add(rewritePause)))
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-l.wake:
		case <-l.kept.changed:
		case <-tick:
		case <-foreign:
		case <-next:
			continue
		}
		return
	}
}

// announce records an Event about each definition whose rules without effect have changed.
func (l *leader) announce(current *policy.Table) {
	maps.DeleteFunc(l.told, func(name, _ string) bool { return len(current.Problems[name]) == 0 })
	for name, problems := range current.Problems {
		text := strings.Join(problems, "; ")
		obj, known, err := l.rules.definitions.GetStore().GetByKey(name)
		crd, ok := obj.(*metav1.PartialObjectMetadata)
		if l.told[name] == text || err != nil || !known || !ok {
			continue
		}
		l.told[name] = text
		l.events.withoutEffect(crd, problems)
	}
}

// write writes the configuration, and then the status of the policies. If the configuration cannot be written, the status says which
// resources the API server does not ask about.
func (l *leader) write(ctx context.Context, current *policy.Table) error {
	live, failed := l.writeConfiguration(ctx, current)
	if failed == nil && l.searchHolders(ctx, current) {
		live, failed = l.writeConfiguration(ctx, current)
	}
	if failed != nil {
		var err error
		if live, err = liveConfiguration(ctx, l.server.Typed); err != nil {
			return errors.Join(failed, err)
		}
	}
	l.written = live.ResourceVersion
	for name, said := range current.Reports {
		if err := l.writeStatus(ctx, name, coverage{rules: current, live: live, failed: failed, searched: l.searched}.limit(name, said)); err != nil {
			return errors.Join(failed, fmt.Errorf("status of policy %s: %w", name, err))
		}
	}
	return failed
}

// writeConfiguration writes the configuration, and returns it.
func (l *leader) writeConfiguration(ctx context.Context, current *policy.Table) (*configuration, error) {
	live, err := liveConfiguration(ctx, l.server.Typed)
	if err != nil {
		return nil, err
	}
	accepted := authoritiesIn(live)
	if len(accepted) == 0 {
		accepted = l.bundle // the configuration was deleted, and replicas still use their certificates
	}
	authority, err := l.config.authority(ctx, l.server.Typed)
	switch {
	case len(authority) > 0:
		l.authority = authority
	case len(l.authority) > 0:
	case len(accepted) > 0:
		l.authority = accepted
	case err == nil:
		err = fmt.Errorf("certificate of the webhook: secret %s/%s has no %s", Namespace, SecretName, webhook.AuthorityCertKey)
		fallthrough
	default:
		return nil, err
	}
	at := address{url: l.config.URL, authorities: l.accepted.Bundle(l.authority, accepted, time.Now()), token: l.tokens.issue()}
	wanted := wanted{
		rules: current, ownership: l.config.Ownership != judgement.Off, annotations: !l.config.PoliciesOnly, address: at,
		namespaces: l.config.ExcludeNamespaces, resources: l.config.ExcludeResources,
	}
	l.kept.add(holdersOf(live))
	for _, k := range enforced(current) {
		if h := (holder{definitionsResource, k.resource.String()}); l.rules.defines(h.name) {
			l.kept.add(map[holder]bool{h: true})
		}
	}
	wanted.holders = l.kept.existing(func(h holder) bool { return l.rules.exists(ctx, h) })
	out, err := applyConfiguration(ctx, l.server.Typed, wanted.configuration(), Name)
	if err != nil {
		return nil, fmt.Errorf("webhook configuration: %w", err)
	}
	l.bundle = at.authorities
	l.tokens.learn(at.token)
	return l.removeEarly(ctx, out)
}
