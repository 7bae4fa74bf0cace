package lifecycle_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/lifecycle"
	"holdfast.dev/holdfast/internal/pasttest"
)

// TestSoakPastPods shows the controller of pods on lost nodes the past while users delete nodes and pods, and create them again.
func TestSoakPastPods(t *testing.T) {
	t.Parallel()
	p := past{startLedBy(t, "test")}
	pasttest.Run(t, pasttest.Scenario{
		Client: p.Config, Controller: runSelected(lifecycle.Config{OrphanQuarantine: 50 * time.Millisecond}, lifecycle.PodsOfLostNodes),
		Script: func(t *testing.T, run string) pasttest.Script {
			p.createNamespace(t, run)
			return p.podsOfNodes(run)
		},
	})
}

func (p past) podsOfNodes(run string) pasttest.Script {
	stays, goes := run+"-stays", run+"-goes"
	node := func(name string) pasttest.Step { return p.create(coreNodes, "", object("Node", name, nil)) }
	pod := func(name, node string) pasttest.Step {
		return p.create(corePods, run, object("Pod", name, map[string]any{"spec": map[string]any{
			"nodeName": node, "containers": []any{map[string]any{"name": "main", "image": "example.com/main"}},
		}}))
	}
	second := int64(1)
	return pasttest.Script{
		Steps: []pasttest.Step{
			p.create(coreAccounts, run, object("ServiceAccount", "default", nil)),
			node(stays), pod("a", stays), node(goes), pod("b", goes), pod("c", goes),
			p.delete(coreNodes, "", goes, nil), p.gone(corePods, run, "b"), pod("b", stays),
			p.delete(corePods, run, "a", &second), p.gone(corePods, run, "c"), node(goes), pod("c", goes),
			p.gone(corePods, run, "a"), pod("a", goes),
		},
		State: func(ctx context.Context) (string, error) {
			list, err := p.CoreV1().Pods(run).List(ctx, metav1.ListOptions{})
			if err != nil {
				return "", err
			}
			var text string
			for _, pod := range list.Items {
				text += fmt.Sprintf("%s on %s %s", pod.Name, strings.TrimPrefix(pod.Spec.NodeName, run), pod.Status.Phase)
				if pod.DeletionTimestamp != nil {
					text += " (deleted)"
				}
				text += "\n"
			}
			return text, nil
		},
		Want: "a on -goes Pending\nb on -stays Pending\nc on -goes Pending\n",
		Last: []pasttest.Step{pod("last", run+"-never"), p.gone(corePods, run, "last")},
	}
}

// TestSoakPastClaims shows the controller of claims the past while users delete claims that pods use, delete these pods, and create both again.
// A pod may have come and gone before the controller saw it.
func TestSoakPastClaims(t *testing.T) {
	t.Parallel()
	p := past{startLedBy(t, "test")}
	pasttest.Run(t, pasttest.Scenario{
		Client: p.Config, Controller: runSelected(lifecycle.Config{ProtectVolumes: true}, lifecycle.ClaimsInUse),
		Script: func(t *testing.T, run string) pasttest.Script {
			p.createNamespace(t, run)
			return p.claims(run)
		},
	})
}

func (p past) claims(run string) pasttest.Script {
	claim := func(name string) pasttest.Step {
		return p.create(coreClaims, run, object("PersistentVolumeClaim", name, map[string]any{"spec": map[string]any{
			"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}},
		}}))
	}
	pod := func(name, claim string) pasttest.Step {
		return p.create(corePods, run, object("Pod", name, map[string]any{"spec": map[string]any{
			"nodeName": run + "-node", "containers": []any{map[string]any{"name": "main", "image": "example.com/main"}},
			"volumes": []any{map[string]any{"name": "data", "persistentVolumeClaim": map[string]any{"claimName": claim}}},
		}}))
	}
	now := int64(0)
	return pasttest.Script{
		Steps: []pasttest.Step{
			p.create(coreAccounts, run, object("ServiceAccount", "default", nil)),
			claim("used"), pod("web", "used"), p.delete(coreClaims, run, "used", nil),
			claim("short"), pod("short", "short"), p.delete(coreClaims, run, "short", nil), p.delete(corePods, run, "short", &now),
			claim("again"), pod("again", "again"), p.delete(corePods, run, "again", &now), p.delete(coreClaims, run, "again", nil),
			claim("short"), claim("again"), pod("again", "again"),
		},
		State: func(ctx context.Context) (string, error) {
			list, err := p.CoreV1().PersistentVolumeClaims(run).List(ctx, metav1.ListOptions{})
			if err != nil {
				return "", err
			}
			var text string
			for _, claim := range list.Items {
				text += fmt.Sprintf("%s deleted %t finalizers %v\n", claim.Name, claim.DeletionTimestamp != nil, claim.Finalizers)
			}
			return text, nil
		},
		Want: "again deleted false finalizers [kubernetes.io/pvc-protection]\nshort deleted false finalizers [kubernetes.io/pvc-protection]\n" +
			"used deleted true finalizers [kubernetes.io/pvc-protection]\n",
		Last: []pasttest.Step{claim("last"), p.delete(coreClaims, run, "last", nil), p.gone(coreClaims, run, "last")},
	}
}
