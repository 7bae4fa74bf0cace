package setup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/othercluster/installation"
)

const (
	// quiet is how long the webhook configuration must stay away until Uninstall goes on. A guard that has lost its right
	// writes the configuration again until each API server knows of the loss.
	quiet = 3 * time.Second
	// patience is how long Uninstall tries to reach that.
	patience = time.Minute
	// interval is the time between two attempts to delete the configuration.
	interval = 100 * time.Millisecond
)

// errWrittenAgain means that a guard writes the webhook configuration with rights that Uninstall cannot take from it.
var errWrittenAgain = errors.New("a guard that has more rights than its service account writes it again: end that guard, and uninstall again")

// UninstallOptions are the options of Uninstall.
type UninstallOptions struct {
	// Kind means that the kind is deleted too, with all policies.
	Kind bool
	// WebhooksOnly means that only the webhook configuration is deleted, and the right to write it.
	WebhooksOnly bool
	// DryRun means that nothing is deleted. The server tries each deletion.
	DryRun bool
	Report func(installation.Outcome)
}

// Uninstall removes the guard. It first takes the right to write the webhook configuration from the guard, then
// deletes the configuration: from then on, the API server no longer asks the guard. It leaves the kind
// and its policies, unless the options say otherwise.
func Uninstall(ctx context.Context, access *rest.Config, options UninstallOptions) error {
	server, err := connection.Open(access, connection.Options{})
	if err != nil {
		return err
	}
	defer server.Close()
	objects, err := Objects(Config{})
	if err != nil {
		return err
	}
	right := slices.IndexFunc(objects, func(object *unstructured.Unstructured) bool {
		return object.GetKind() == "ClusterRoleBinding" && object.GetName() == guard.Name+"-configuration"
	})
	applier := installation.Applier{Client: server.Dynamic, FieldManager: fieldManager, Verify: options.DryRun}
	if err := removeWebhooks(ctx, applier, objects[right], options.Report); err != nil || options.WebhooksOnly {
		return err
	}
	others := slices.DeleteFunc(objects, func(object *unstructured.Unstructured) bool {
		return object.GetKind() == "CustomResourceDefinition" && !options.Kind
	})
	slices.Reverse(others)
	return applier.DeleteAll(ctx, others, options.Report)
}

// removeWebhooks deletes the binding by which the guard has the right to write the webhook configuration, and then the configuration,
// until it stays away. A configuration that is left would refuse all updates of guarded objects, because no guard answers.
func removeWebhooks(
	ctx context.Context, applier installation.Applier, right *unstructured.Unstructured, report func(installation.Outcome),
) error {
	configuration := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": map[string]any{"name": guard.Name},
	}}
	var written time.Time
	err := applier.DeleteAll(ctx, []*unstructured.Unstructured{right, configuration}, func(outcome installation.Outcome) {
		written = time.Now()
		report(outcome)
	})
	if err != nil || applier.Verify {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errWrittenAgain)
	defer cancel()
	again := func(installation.Outcome) { written = time.Now() }
	for time.Since(written) < quiet {
		select {
		case <-time.After(interval):
			err = applier.DeleteAll(ctx, []*unstructured.Unstructured{configuration}, again)
		case <-ctx.Done():
		}
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("%s %s: %w", configuration.GetKind(), configuration.GetName(), context.Cause(ctx))
		case err != nil:
			return err
		}
	}
	return nil
}
