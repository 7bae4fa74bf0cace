package setup

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/othercluster/installation"
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
	return installation.Applier{Client: server.Dynamic, FieldManager: fieldManager, Verify: config.Verify}.ApplyAll(ctx, objects, report)
}
