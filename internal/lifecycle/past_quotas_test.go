package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/lifecycle"
	"holdfast.dev/holdfast/internal/pasttest"
)

// TestSoakPastQuotas shows the controllers of quotas and of claims, and the collector that counts for the quotas, the past while users create and
// delete objects and quotas. The usage must be right at the end.
func TestSoakPastQuotas(t *testing.T) {
	t.Parallel()
	p := past{startLedBy(t, "test")}
	pasttest.Run(t, pasttest.Scenario{
		Client: p.Config, Controller: runSelected(lifecycle.Config{}, lifecycle.Quotas, lifecycle.Garbage, lifecycle.ClaimsInUse),
		Script: func(t *testing.T, run string) pasttest.Script {
			p.createNamespace(t, run)
			return p.quotas(run)
		},
	})
}

func (p past) quotas(run string) pasttest.Script {
	configMap := func(name string) pasttest.Step { return p.create(coreConfigMaps, run, object("ConfigMap", name, nil)) }
	quota := func(name string, hard map[string]any) pasttest.Step {
		return p.create(coreQuotas, run, object("ResourceQuota", name, map[string]any{"spec": map[string]any{"hard": hard}}))
	}
	service := func(name string) pasttest.Step {
		return p.create(coreServices, run, object("Service", name, map[string]any{"spec": map[string]any{
			"ports": []any{map[string]any{"port": int64(80)}},
		}}))
	}
	claim := func(name, size string) pasttest.Step {
		return p.create(coreClaims, run, object("PersistentVolumeClaim", name, map[string]any{"spec": map[string]any{
			"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": size}},
		}}))
	}
	counts := map[string]any{"count/configmaps": "50", "count/secrets": "50"}
	used := func(ctx context.Context, name string) (string, error) {
		found, err := p.CoreV1().ResourceQuotas(run).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		text := name
		for _, resource := range slices.Sorted(maps.Keys(found.Status.Used)) {
			amount := found.Status.Used[resource]
			text += fmt.Sprintf(" %s=%s", resource, amount.String())
		}
		return text, nil
	}
	uses := func(name, want string) pasttest.Step {
		return pasttest.Step{Name: name + " uses " + want, Wait: func(ctx context.Context) error {
			got, err := used(ctx, name)
			if err == nil && !strings.Contains(got, want) {
				err = errors.New(got)
			}
			return err
		}}
	}
	return pasttest.Script{
		Steps: []pasttest.Step{
			quota("counts", counts), uses("counts", "configmaps="), configMap("a"), configMap("b"), p.create(coreSecrets, run, object("Secret", "s", nil)),
			p.delete(coreConfigMaps, run, "a", nil), configMap("c"), configMap("a"), p.delete(coreConfigMaps, run, "b", nil),
			quota("sizes", map[string]any{"services": "20", "persistentvolumeclaims": "20", "requests.storage": "100Gi"}),
			uses("sizes", "services="),
			service("web"), claim("data", "3Gi"), service("api"), claim("logs", "5Gi"), p.delete(coreServices, run, "web", nil),
			p.delete(coreClaims, run, "data", nil), claim("data", "7Gi"), p.delete(coreSecrets, run, "s", nil),
			p.delete(coreQuotas, run, "counts", nil), configMap("d"), quota("counts", counts), uses("counts", "configmaps="), configMap("e"),
			p.delete(coreConfigMaps, run, "c", nil),
		},
		State: func(ctx context.Context) (string, error) {
			counts, err := used(ctx, "counts")
			if err != nil {
				return "", err
			}
			sizes, err := used(ctx, "sizes")
			return counts + "\n" + sizes, err
		},
		Want: "counts count/configmaps=3 count/secrets=0\nsizes persistentvolumeclaims=2 requests.storage=12Gi services=1",
		Last: []pasttest.Step{
			configMap("last"), service("last"), uses("counts", "configmaps=4"), uses("sizes", "services=2"),
			p.delete(coreConfigMaps, run, "last", nil), p.delete(coreServices, run, "last", nil),
			uses("counts", "configmaps=3"), uses("sizes", "services=1"),
		},
	}
}
