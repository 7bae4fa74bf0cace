package setup

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/connection"
	"holdfast.dev/holdfast/guard"
	"holdfast.dev/holdfast/installation"
)

const (
	// fieldManager is the field manager of all installed objects.
	fieldManager = "holdfast-guard-init"
	// certManagerVersion is the version of cert-manager's API in the objects.
	certManagerVersion = "cert-manager.io/v1"
)

// Install applies all objects and reports the outcome of each. It keeps keys that are valid.
func Install(ctx context.Context, access *rest.Config, config Config, report func(installation.Outcome)) error {
	server, err := connection.Open(access, connection.Options{})
	if err != nil {
		return err
	}
	defer server.Close()
	if config.CertManager {
		// Without this check, the error would come after half of the objects, and name a kind that the user did not write.
		if _, err := server.Discovery.ServerResourcesForGroupVersion(certManagerVersion); apierrors.IsNotFound(err) {
			return fmt.Errorf("cert-manager is not installed: the server does not have %s", certManagerVersion)
		} else if err != nil {
			return err
		}
	} else {
		found, err := server.Typed.CoreV1().Secrets(guard.Namespace).Get(ctx, guard.SecretName, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		if config.Keys, err = guard.Certificates().Complete(found.Data, config.Hosts(), time.Now()); err != nil {
			return fmt.Errorf("keys of the webhook: %w", err)
		}
	}
	objects, err := Objects(config)
	if err != nil {
		return err
	}
	return installation.Applier{Client: server.Dynamic, FieldManager: fieldManager}.ApplyAll(ctx, objects, report)
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
	configuration := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": map[string]any{"name": guard.Name},
	}}
	first := func(object *unstructured.Unstructured) bool {
		return object.GetKind() == "ClusterRoleBinding" && object.GetName() == guard.Name+"-configuration"
	}
	at := slices.IndexFunc(objects, first)
	order := []*unstructured.Unstructured{objects[at], configuration}
	slices.Reverse(objects)
	for _, object := range objects {
		if !first(object) && (options.Kind || object.GetKind() != "CustomResourceDefinition") {
			order = append(order, object)
		}
	}
	return installation.Applier{Client: server.Dynamic, FieldManager: fieldManager}.DeleteAll(ctx, order, options.Report)
}

// UninstallOptions are the options of Uninstall.
type UninstallOptions struct {
	// Kind means that the kind is deleted too, with all policies.
	Kind   bool
	Report func(installation.Outcome)
}
