package lifecycle

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/admission/quota"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/connection/inprocess"
	"holdfast.dev/holdfast/internal/lifecycle/collection"
	"holdfast.dev/holdfast/internal/lifecycle/garbage"
)

// userAgent is the name of the controllers in audit logs and managed fields, and the name
// of their Lease.
const userAgent = "holdfast-controllers"

// Config configures the controllers.
type Config struct {
	// Client connects to the API server, with the permissions of an administrator. Run
	// copies it and ignores its rate limit.
	Client *rest.Config
	// Identity identifies this process in the leader election. A process that has the
	// same identity after a restart becomes leader again without waiting for its old
	// Lease to expire. If it is empty, Run uses the host name with a random suffix.
	Identity string
	// RootCA is the CA certificate of the API server, in PEM. The controllers write it
	// to the ConfigMap kube-root-ca.crt in every namespace. If it is empty, they do not
	// write these ConfigMaps.
	RootCA []byte
	// ProtectVolumes makes the controllers add the finalizers that protect
	// PersistentVolumeClaims and PersistentVolumes in use, if an object lacks them.
	// Otherwise the controllers only remove these finalizers.
	ProtectVolumes bool
	// Stored reads custom resources where they are stored, for the garbage collector and for
	// the deletion of namespaces. It may be nil.
	Stored garbage.Stored
	// InProcess returns objects in the process, for all controllers. It may be nil.
	InProcess inprocess.Source
	// StorageVersion returns the storage versions of custom resources. The garbage collector
	// and the deletion of namespaces write in these versions. It may be nil.
	StorageVersion garbage.StorageVersion
	// Replaced has the records of replaced objects, for the garbage collector. It may be nil.
	Replaced garbage.Replaced
	// Migrator carries out StorageVersionMigrations. If it is nil, no controller does.
	Migrator Migrator
	// Collection configures the deletion of unused ConfigMaps and Secrets. If its index is nil, none are deleted. Run sets its informers.
	Collection collection.Config
	// Controllers says which controllers run.
	Controllers Selection
	// OrphanQuarantine is how long a node must not exist before its pods are deleted. Zero means 40
	// seconds, as in Kubernetes.
	OrphanQuarantine time.Duration
	// RunWhileLeading are functions that run while this process is the leader, in
	// addition to the controllers. Each must return when its context ends.
	RunWhileLeading []func(context.Context)
}

// Run takes part in the leader election and runs the controllers while this process is
// the leader. If it loses the Lease, it stops the controllers until it is the leader
// again. When ctx ends, it stops the controllers, releases the Lease, and returns nil.
// It returns an error only if the config is invalid.
func Run(ctx context.Context, config Config) error {
	server, err := connection.Open(config.Client, connection.Options{UserAgent: userAgent, ReplacementsAsChanges: true})
	if err != nil {
		return fmt.Errorf("client of the controllers: %w", err)
	}
	defer server.Close()
	election := Election{Client: config.Client, Namespace: metav1.NamespaceSystem, Name: userAgent, Identity: config.Identity}
	return Lead(ctx, election, func(ctx context.Context) error { return lead(ctx, config, server) })
}

// lead runs the controllers until ctx ends.
func lead(ctx context.Context, config Config, server *connection.Connection) error {
	ctx, cancel := context.WithCancel(ctx)
	factory := inprocess.NewFactory(server, config.InProcess)
	var running sync.WaitGroup
	defer func() {
		cancel()
		factory.Shutdown()
		running.Wait()
	}()
	// The garbage collector watches every kind, so it also counts objects for the quotas.
	ledger := quota.NewLedger()
	if config.Controllers.Has(Garbage) {
		running.Go(func() {
			garbage.Run(ctx, garbage.Config{
				Metadata: server.Metadata, Discovery: server.Discovery, Stored: config.Stored,
				InProcess: config.InProcess, StorageVersion: config.StorageVersion, Counter: ledger,
				Events: server.Typed.CoreV1(), Replaced: config.Replaced,
			})
		})
	}
	if config.Controllers.Has(Collection) && config.Collection.Index != nil {
		collected := config.Collection
		collected.Informers = inprocess.NewFactory(server, config.InProcess)
		running.Go(func() {
			if err := collection.Run(ctx, collected); err != nil {
				klog.ErrorS(err, "unused objects are not deleted")
			}
		})
	}
	for _, run := range config.RunWhileLeading {
		running.Go(func() { run(ctx) })
	}
	return runControllers(ctx, factory, config.controllers(server, ledger))
}

// controllers returns the selected controllers, without the garbage collector.
func (c Config) controllers(server *connection.Connection, ledger *quota.Ledger) []controller {
	var selected []controller
	for name, create := range map[string]func() controller{
		Namespaces:      func() controller { return newNamespaces(server, c) },
		PodsOfLostNodes: func() controller { return newPods(server, c.OrphanQuarantine) },
		Accounts:        func() controller { return newAccounts(server) },
		Quotas:          func() controller { return newQuotas(server, ledger) },
		ClaimsInUse:     func() controller { return newClaims(server, c) },
		VolumesInUse:    func() controller { return newVolumes(server, c) },
		ClassesInUse:    func() controller { return newAttributesClasses(server, c) },
		RootCAs:         func() controller { return newRootCAs(server, c.RootCA) },
		Migrations:      func() controller { return newMigrations(server, c.Migrator) },
	} {
		if c.Controllers.Has(name) && (name != RootCAs || len(c.RootCA) > 0) && (name != Migrations || c.Migrator != nil) {
			selected = append(selected, create())
		}
	}
	return selected
}
