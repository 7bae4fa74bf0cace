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

	"holdfast.dev/holdfast/manager"
	"holdfast.dev/holdfast/operator/api"
)

const (
	// probe is the name of an Instance, and of a version that there never is.
	probe = "kudo-init-probe"
	// probeEvery is how often the webhook is tried.
	probeEvery = 500 * time.Millisecond
)

// Wait waits until Instances are judged: it tries to create one of a version that
// does not exist, as a dry run, until it is refused for that very reason. Then the
// kinds are served, the webhook is known to the server, and the manager answers.
func (i *Installer) Wait(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, probeEvery, true, func(ctx context.Context) (bool, error) {
		last = i.judged(ctx)
		return last == nil, nil
	})
	if err != nil && last != nil {
		return fmt.Errorf("%w: the webhook does not answer yet: %w", err, last)
	}
	return err
}

func (i *Installer) judged(ctx context.Context) error {
	instance := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": api.GroupVersion.String(), "kind": "Instance",
		"metadata": map[string]any{"name": probe},
		"spec":     map[string]any{"operatorVersion": map[string]any{"name": probe}},
	}}
	_, err := i.dynamic.Resource(api.GroupVersion.WithResource("instances")).Namespace(manager.Namespace).
		Create(ctx, instance, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	switch {
	case err == nil:
		return errors.New("the server does not ask it")
	case apierrors.IsInvalid(err) && strings.Contains(err.Error(), "operator version "+probe+" does not exist"):
		return nil
	}
	return err
}
