package guard

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/native/judgement"
	"holdfast.dev/holdfast/internal/othercluster/webhook"
	"holdfast.dev/holdfast/internal/policy"
)

// writeInterval is the interval at which the leader writes the configuration again, in case another
// client has changed or deleted it, or the authority was replaced.
const writeInterval = 10 * time.Second

// leader writes the webhook configuration and the status of the policies.
type leader struct {
	config Config
	server *connection.Connection
	rules  *tracker
	// accepted are the authorities that the API server accepts.
	accepted *webhook.Authorities
	// wake has a value if the keys of the webhook have changed.
	wake <-chan struct{}
	// events records Events about definitions.
	events *events
	tokens *tokens
	// told are the problems of definitions that this leader has recorded Events about.
	told map[string]string
}

// run writes after each change of the table, and every writeInterval, until ctx ends.
func (l leader) run(ctx context.Context) error {
	ticker := time.NewTicker(writeInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		current, changed := l.rules.latest()
		l.announce(current)
		if err := l.write(ctx, current); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "webhook configuration is not written")
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-l.wake:
		case <-ticker.C:
		}
	}
	return nil
}

// announce records an Event about each definition whose rules without effect have changed.
func (l leader) announce(current *policy.Table) {
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

func (l leader) write(ctx context.Context, current *policy.Table) error {
	at, err := l.config.address(ctx, l.server)
	if err != nil {
		return err
	}
	accepted, err := acceptedAuthorities(ctx, l.server.Typed)
	if err != nil {
		return err
	}
	at.authorities = l.accepted.Bundle(at.authorities, accepted, time.Now())
	at.token = l.tokens.issue()
	wanted := wanted{rules: current, ownership: l.config.Ownership != judgement.Off, address: at}
	if err := applyConfiguration(ctx, l.server.Typed, wanted.configuration()); err != nil {
		return err
	}
	l.tokens.learn(at.token)
	for name, said := range current.Reports {
		if err := l.writeStatus(ctx, name, said); err != nil {
			return fmt.Errorf("status of policy %s: %w", name, err)
		}
	}
	return nil
}

// writeStatus writes what a policy matches and what it cannot, if the status differs.
func (l leader) writeStatus(ctx context.Context, name string, said policy.Report) error {
	policies := l.server.Dynamic.Resource(policy.Policies())
	cached, known, err := l.rules.policies.GetStore().GetByKey(name)
	if err != nil || !known {
		return err
	}
	obj, ok := cached.(*unstructured.Unstructured)
	if !ok || obj.GetGeneration() != said.Generation {
		return nil
	}
	ready, reason, message := "True", "InForce", "all rules are in force"
	if len(said.Problems) > 0 {
		ready, reason, message = "False", "Incomplete", strings.Join(said.Problems, "\n")
	}
	matched := make([]any, len(said.Matched))
	for i, text := range said.Matched {
		matched[i] = text
	}
	before, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	since := metav1.Now().UTC().Format(time.RFC3339)
	if len(before) == 1 {
		was, _ := before[0].(map[string]any)
		if was["status"] == ready {
			since, _ = was["lastTransitionTime"].(string)
		}
		guarded, _, _ := unstructured.NestedSlice(obj.Object, "status", "guarded")
		if was["status"] == ready && was["message"] == message && was["observedGeneration"] == said.Generation &&
			fmt.Sprint(guarded) == fmt.Sprint(matched) {
			return nil
		}
	}
	updated := obj.DeepCopy()
	updated.Object["status"] = map[string]any{
		"guarded": matched,
		"conditions": []any{map[string]any{
			"type": "Ready", "status": ready, "reason": reason, "message": message,
			"lastTransitionTime": since, "observedGeneration": said.Generation,
		}},
	}
	_, err = policies.UpdateStatus(ctx, updated, metav1.UpdateOptions{FieldManager: Name})
	return err
}
