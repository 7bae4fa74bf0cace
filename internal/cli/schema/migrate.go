package schema

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
)

const migrateHelp = `Write all stored objects of a kind again, as the server stores them now.

A definition stores objects in one version. After another version has become the storage
version, this command stores the objects in it, and the server removes the other versions
from status.storedVersions of the definition. They can then be removed from the
definition. For Secrets, and other kinds that the server encrypts, it encrypts the
objects with the first key of --encryption-provider-config.

The command creates a StorageVersionMigration, which the server carries out, and waits
until it has ended, or for --timeout. If the command is interrupted, the migration goes on. An object that
cannot be written for 20 seconds is named, and the exit code is then 1. An API server of
Kubernetes with storagemigration.k8s.io needs its controller, in
kube-controller-manager.`

const migrateExamples = `  # The objects of a definition
  holdfast schema migrate widgets.example.com

  # After a change of the first key of encryption
  holdfast schema migrate secrets

  # Wait for ten minutes at most
  holdfast schema migrate --timeout 10m widgets.example.com deployments.apps`

// migrateInterval is how often the command asks for the state of a migration.
const migrateInterval = 200 * time.Millisecond

// migrationVersions are the versions of StorageVersionMigration that have the same fields, the preferred one first.
var migrationVersions = []string{"v1", "v1beta1"}

// migrating is one run of the command migrate.
type migrating struct {
	cluster
	command.Waiting
	dryRun command.DryRun
	// resource has the StorageVersionMigrations of the server, in version.
	resource dynamic.ResourceInterface
	version  runtimeschema.GroupVersion
}

func newMigrateCommand() *cobra.Command {
	m := &migrating{}
	cmd := &cobra.Command{
		Use:     "migrate RESOURCE[.GROUP]...",
		Short:   "Store the objects of a cluster again, in their storage version",
		Long:    migrateHelp,
		Example: migrateExamples,
		Args:    arguments.AtLeastOne("RESOURCE"),
		RunE:    m.run,
	}
	m.cluster.AddFlags(cmd.Flags())
	m.AddTimeoutFlag(cmd.Flags())
	// A migration of many objects takes longer than a plan.
	m.Timeout, cmd.Flags().Lookup("timeout").DefValue = 0, "0s"
	m.dryRun.AddFlag(cmd.Flags())
	return cmd
}

func (m *migrating) run(cmd *cobra.Command, args []string) error {
	if err := m.connect(); err != nil {
		return command.Unable(err)
	}
	for _, arg := range args {
		message, err := m.migrate(cmd, runtimeschema.ParseGroupResource(arg))
		switch {
		case errors.Is(err, context.Canceled):
			return command.Interrupted(err)
		case err != nil:
			return command.Refused(err)
		}
		if message != "" {
			message = ": " + message
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s migrated%s%s\n", arg, message, m.dryRun.Suffix())
	}
	return nil
}

// connect finds the version in which the server has StorageVersionMigrations.
func (m *migrating) connect() error {
	config, err := m.config()
	if err != nil {
		return err
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	for _, version := range migrationVersions {
		m.version = runtimeschema.GroupVersion{Group: storagemigrationv1.GroupName, Version: version}
		resources, err := found.ServerResourcesForGroupVersion(m.version.String())
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("find %s on %s: %w", m.version, config.Host, err)
		}
		if slices.ContainsFunc(resources.APIResources, func(r metav1.APIResource) bool { return r.Name == "storageversionmigrations" }) {
			m.resource = client.Resource(m.version.WithResource("storageversionmigrations"))
			return nil
		}
	}
	return fmt.Errorf("the server %s does not have storageversionmigrations.%s: holdfast serve has it, and Kubernetes with the feature gate "+
		"StorageVersionMigrator", config.Host, storagemigrationv1.GroupName)
}

// migrate creates the migration of a resource and waits until it has ended. It returns the message of the server.
func (m *migrating) migrate(cmd *cobra.Command, resource runtimeschema.GroupResource) (string, error) {
	if !m.dryRun.Sends() {
		return "", nil
	}
	ctx := cmd.Context()
	created, err := m.resource.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": m.version.String(), "kind": "StorageVersionMigration",
		"metadata": map[string]any{"generateName": resource.Resource + "-"},
		"spec":     map[string]any{"resource": map[string]any{"group": resource.Group, "resource": resource.Resource}},
	}}, metav1.CreateOptions{DryRun: m.dryRun.Options()})
	if err != nil {
		return "", fmt.Errorf("migrate %s: %w", resource, err)
	}
	if m.dryRun.IsSet() {
		return "", nil
	}
	var progress atomic.Pointer[string]
	progress.Store(new("waits for the controller"))
	defer showProgress(cmd.ErrOrStderr(), func() string { return resource.String() + ": " + *progress.Load() })()
	ctx, cancel := m.Limit(ctx)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			err := ctx.Err()
			if errors.Is(err, context.DeadlineExceeded) {
				err = fmt.Errorf("not done within %v (%s)", m.Timeout, *progress.Load())
			}
			return "", fmt.Errorf("migrate %s: %w; the migration goes on: kubectl get storageversionmigration %s", resource, err, created.GetName())
		case <-time.After(migrateInterval):
		}
		found, err := m.resource.Get(ctx, created.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return "", fmt.Errorf("migrate %s: the migration %s was deleted", resource, created.GetName())
		}
		if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
			return "", fmt.Errorf("migrate %s: %w; the migration goes on", resource, err)
		}
		if err != nil {
			// A server may restart meanwhile.
			progress.Store(new(err.Error()))
			continue
		}
		var migration storagemigrationv1.StorageVersionMigration
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &migration); err != nil {
			return "", fmt.Errorf("migrate %s: %w", resource, err)
		}
		if message, ended, err := outcome(&migration, &progress); ended {
			if err != nil {
				return "", fmt.Errorf("migrate %s: %w", resource, err)
			}
			return message, nil
		}
	}
}

// outcome returns how a migration has ended. Kubernetes removes the stored versions of a definition after the condition Succeeded, and
// then sets the condition Running to False.
func outcome(migration *storagemigrationv1.StorageVersionMigration, progress *atomic.Pointer[string]) (message string, ended bool, err error) {
	conditions := migration.Status.Conditions
	if running := meta.FindStatusCondition(conditions, string(storagemigrationv1.MigrationRunning)); running != nil {
		progress.Store(&running.Message)
		if running.Status == metav1.ConditionTrue {
			return "", false, nil
		}
	}
	if failed := meta.FindStatusCondition(conditions, string(storagemigrationv1.MigrationFailed)); failed != nil && failed.Status == metav1.ConditionTrue {
		return "", true, errors.New(failed.Message)
	}
	if done := meta.FindStatusCondition(conditions, string(storagemigrationv1.MigrationSucceeded)); done != nil && done.Status == metav1.ConditionTrue {
		return done.Message, true, nil
	}
	return "", false, nil
}
