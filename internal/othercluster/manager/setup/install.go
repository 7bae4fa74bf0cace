package setup

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/othercluster/installation"
	"holdfast.dev/holdfast/internal/othercluster/manager"
)

// fieldManager is the field manager of all installed objects.
const fieldManager = "holdfast-kudo-init"

// Installer installs operator packages on one cluster.
type Installer struct {
	// Verify makes Install change nothing. It reports what it would do.
	Verify  bool
	typed   kubernetes.Interface
	dynamic dynamic.Interface
}

// New returns an Installer for the cluster of a config, which needs the rights of an
// administrator. The config is copied.
func New(config *rest.Config) (*Installer, error) {
	server, err := connection.Open(config, connection.Options{})
	if err != nil {
		return nil, err
	}
	return &Installer{typed: server.Typed, dynamic: server.Dynamic}, nil
}

// Install applies all objects and reports the outcome of each. On a cluster that has operator
// packages built in it does nothing and returns manager.ErrBuiltIn.
func (i *Installer) Install(ctx context.Context, config Config, report func(installation.Outcome)) error {
	builtIn, err := manager.BuiltIn(ctx, i.typed.Discovery().RESTClient())
	if err != nil {
		return err
	}
	if builtIn {
		return manager.ErrBuiltIn
	}
	if err := i.checkNoKUDO(ctx); err != nil {
		return err
	}
	if config.Keys, err = i.keys(ctx, config); err != nil {
		return err
	}
	objects, err := Objects(config)
	if err != nil {
		return err
	}
	if err := i.applier().ApplyAll(ctx, objects, report); err != nil {
		return err
	}
	return i.removeWorkload(ctx, config, report)
}

// checkNoKUDO returns an error if KUDO runs on the cluster, because it would also run each
// plan.
func (i *Installer) checkNoKUDO(ctx context.Context) error {
	const name = "kudo-controller-manager"
	_, err := i.typed.AppsV1().StatefulSets(manager.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("KUDO runs on this cluster, and would run every plan as well: "+
		"delete the StatefulSet %s/%s and KUDO's webhook first", manager.Namespace, name)
}

// keys returns the keys in the Secret, completed by manager.CompleteKeys.
func (i *Installer) keys(ctx context.Context, config Config) (map[string][]byte, error) {
	found, err := i.typed.CoreV1().Secrets(manager.Namespace).Get(ctx, manager.Secret, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	keys, err := manager.CompleteKeys(found.Data, config.Hosts(), time.Now())
	if err != nil {
		return nil, fmt.Errorf("keys of the webhook: %w", err)
	}
	return keys, nil
}

// removeWorkload deletes the Deployment and Service of an earlier installation if the manager
// now runs outside the cluster.
func (i *Installer) removeWorkload(ctx context.Context, config Config, report func(installation.Outcome)) error {
	if config.WebhookURL == nil || config.DefinitionsOnly || i.Verify {
		return nil
	}
	unwanted, err := workload(config)
	if err != nil {
		return err
	}
	return i.applier().DeleteAll(ctx, unwanted, report)
}

func (i *Installer) applier() installation.Applier {
	return installation.Applier{Client: i.dynamic, FieldManager: fieldManager, Verify: i.Verify}
}
