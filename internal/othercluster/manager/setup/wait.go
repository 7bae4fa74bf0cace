package setup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/othercluster/manager"
)

const (
	// probe is the name of the Instance that Wait sends, and of its OperatorVersion, which
	// does not exist.
	probe = "kudo-init-probe"
	// probeInterval is the interval at which the webhook is tried.
	probeInterval = 500 * time.Millisecond
)

// Wait waits until the server calls the webhook and the manager answers. It repeats a dry run
// that creates an Instance of an OperatorVersion which does not exist, until the server
// refuses it for that reason. Only the webhook gives that reason.
func (i *Installer) Wait(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, probeInterval, true, func(ctx context.Context) (bool, error) {
		last = i.probe(ctx)
		return last == nil, nil
	})
	if err != nil && last != nil {
		return fmt.Errorf("%w: the webhook does not answer yet: %w", err, last)
	}
	return err
}

// probe returns nil if the webhook refuses the Instance.
func (i *Installer) probe(ctx context.Context) error {
	instance := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": api.GroupVersion.String(), "kind": "Instance",
		"metadata": map[string]any{"name": probe},
		"spec":     map[string]any{"operatorVersion": map[string]any{"name": probe}},
	}}
	_, err := i.dynamic.Resource(api.GroupVersion.WithResource("instances")).Namespace(manager.Namespace).
		Create(ctx, instance, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	switch {
	case err == nil:
		return errors.New("the server does not call it")
	case apierrors.IsInvalid(err) && strings.Contains(err.Error(), "operator version "+probe+" does not exist"):
		return nil
	}
	return err
}
