package apiserver

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/apiserver/bounded"
	"holdfast.dev/holdfast/internal/apiserver/builtin"
	"holdfast.dev/holdfast/internal/apiserver/cacheaudit"
	"holdfast.dev/holdfast/internal/apiserver/definitions"
	"holdfast.dev/holdfast/internal/apiserver/gate"
	"holdfast.dev/holdfast/internal/apiserver/identity"
	"holdfast.dev/holdfast/internal/apiserver/maintenance"
	"holdfast.dev/holdfast/internal/apiserver/managers"
	"holdfast.dev/holdfast/internal/apiserver/migration"
	"holdfast.dev/holdfast/internal/apiserver/plugins"
	"holdfast.dev/holdfast/internal/apiserver/referrers"
	"holdfast.dev/holdfast/internal/apiserver/routes"
	"holdfast.dev/holdfast/internal/apiserver/start"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/apiserver/validity"
	"holdfast.dev/holdfast/internal/apiserver/watches"
	"holdfast.dev/holdfast/internal/connection/inprocess"
	"holdfast.dev/holdfast/internal/definition"
)

// resourcesStage is the generic server with everything that it serves.
type resourcesStage struct {
	server    *genericapiserver.GenericAPIServer
	hooks     *start.Hooks
	readiness *storage.Readiness
	stored    storedObjects
	// migrator writes stored objects again.
	migrator *migration.Migrator
	// keep refuses to delete objects.
	keep *keep.Plugin
	// source returns the objects of built-in kinds and definitions in the process.
	source inprocess.Source
	// storageVersion returns the storage version of a custom resource if it is served.
	storageVersion func(schema.GroupResource) string
	// definition returns the definition of a custom resource that is served, nil if there is none.
	definition func(schema.GroupResource) *definition.CustomResourceDefinition
	// validity judges the stored objects of definitions.
	validity *validity.Controller
	// references says which objects refer to ConfigMaps and Secrets.
	references *referrers.Index
	// definitionsRead is closed when the stored definitions are served.
	definitionsRead <-chan struct{}
	// auditor compares the caches with etcd.
	auditor *cacheaudit.Auditor
}

// serveResources is the stage that opens the registries and installs them. On an
// error it leaves nothing open.
func serveResources(b start.Base, stored storageStage, identity identity.Stage, admission plugins.Stage) (_ resourcesStage, err error) {
	watched := watches.New(time.Duration(b.Generic.MinRequestTimeout) * time.Second)
	applyWatches(b.Generic, watched)
	server, err := b.Generic.Complete(b.Clients.Informers).New("holdfast", genericapiserver.NewEmptyDelegate())
	if err != nil {
		return resourcesStage{}, fmt.Errorf("build server: %w", err)
	}
	defer func() {
		if err != nil {
			server.Destroy()
		}
	}()
	router := routes.New()
	server.Handler.GoRestfulContainer.Router(router)
	i := installer{Base: b, server: server, routes: router, hooks: start.NewHooks(server), sets: managers.NewSets()}
	store, status, err := definitions.Open(b.Scheme, b.Generic.RESTOptionsGetter, admission.Ownership, admission.Policies)
	if err != nil {
		return resourcesStage{}, err
	}
	kubelets, err := i.newKubelets()
	if err != nil {
		return resourcesStage{}, err
	}
	registries, err := builtin.Open(builtin.Config{
		Scheme: b.Scheme, Options: b.Generic.RESTOptionsGetter, Ownership: admission.Ownership, Policies: admission.Policies, Features: b.Config.Features,
		Selection: stored.selection, TokenRequests: identity.TokenRequests,
		EventTTL: b.Config.Limits.EventTTL, Kubelets: kubelets, Authorizer: identity.Authorizer, Keep: admission.Keep.CheckObject,
	})
	if err != nil {
		return resourcesStage{}, err
	}
	if err := i.hooks.InBackground("bookmark-used-objects", stored.selection.Run); err != nil {
		return resourcesStage{}, err
	}
	if err := i.hooks.InBackground("bound-history", stored.recorder.Run); err != nil {
		return resourcesStage{}, err
	}
	if err := i.allocateServiceIPs(registries.Stores); err != nil {
		return resourcesStage{}, err
	}
	registrar, err := i.newRegistrar(registries)
	if err != nil {
		return resourcesStage{}, err
	}
	customResources, err := i.newCustomResources(store, status, admission, registrar)
	if err != nil {
		return resourcesStage{}, err
	}
	judge := gate.New(gate.Config{Policy: b.Config.DefinitionPolicy, Timeout: b.Config.DefinitionScanTimeout, Objects: stored.readable})
	b.Metrics.MustRegister(judge.Collectors()...)
	registry := definitions.NewRegistry(store, customResources, admission.Keep, judge)
	checks := validity.New(validity.Config{
		Definitions: customResources.Definitions(), Store: store, Objects: stored.readable, Compiled: customResources.Compiled,
		Interval: b.Config.RecheckInterval,
	})
	b.Metrics.MustRegister(checks)
	customResources.OnFirstObject(checks.FirstObject)
	if err := i.hooks.InBackground("judge-first-objects", checks.RunFirst); err != nil {
		return resourcesStage{}, err
	}
	admission.Keep.SetObjects(keptObjects{builtIn: registries.Stores, readable: stored.readable, custom: customResources, router: i.Router})
	inside, err := insideMetadata(server.Handler, b.Generic.LoopbackClientConfig)
	if err != nil {
		return resourcesStage{}, err
	}
	admission.Replacer.SetObjects(replaceable{
		builtIn: registries.Stores, custom: customResources, readable: stored.readable, inside: inside, collected: !besideControllerManager(b.Config),
	})
	definitionStatus := definitions.NewStatusRegistry(status, judge)
	if err := i.installKinds(registries.Kinds, i.definitionGroup(registry, definitionStatus)); err != nil {
		return resourcesStage{}, err
	}
	if err := i.watchKinds(registries.Kinds, watched); err != nil {
		return resourcesStage{}, err
	}
	readiness := storage.NewReadiness(stored.readable, registries.Stores)
	if err := server.AddReadyzChecks(healthz.NamedCheck("storage-readiness", readiness.Check)); err != nil {
		return resourcesStage{}, err
	}
	if err := i.installReviews(identity); err != nil {
		return resourcesStage{}, err
	}
	if err := identity.ServeIssuer(b, server); err != nil {
		return resourcesStage{}, err
	}
	maintenance.Serve(b, server)
	b.Metrics.CountAgents(stored.selection)
	b.Metrics.MeasureStorage(b.Etcd)
	b.Metrics.MustRegister(customResources.Collectors()...)
	b.Metrics.MustRegister(bounded.Collector(slices.Concat(customResources.Caches(), stored.shared.Caches(), i.sets.Caches())...))
	// Watch caches are filled from the other caches.
	auditor := cacheaudit.New(cacheaudit.Config{Interval: b.Config.CacheAuditInterval, Caches: func() []cacheaudit.Cache {
		return slices.Concat(customResources.Audited(stored.readable), i.sets.Audited(), stored.watchCaches.Audited())
	}})
	b.Metrics.MustRegister(auditor.Collectors()...)
	if err := i.hooks.InBackground("audit-caches", auditor.Run); err != nil {
		return resourcesStage{}, err
	}
	b.Metrics.Serve(server, b.Config.Profiling)
	i.serveConsole(consoleSources(b, identity, admission, customResources))
	read := make(chan struct{})
	schemas, err := i.serveCustomResources(customResources, admission.Documents, read)
	if err != nil {
		return resourcesStage{}, err
	}
	if err := i.registerLocalAPIs(registrar, read); err != nil {
		return resourcesStage{}, err
	}
	if err := i.serveAggregatedAPIs(registries, foreignDocuments{schemas.documents, customResources}); err != nil {
		return resourcesStage{}, err
	}
	stores := maps.Clone(registries.Stores)
	stores[definitions.Resource] = store
	b.References.Start(referrers.Config{Objects: stored.readable, Stores: stores, Rights: identity.Authorizer})
	b.Metrics.MustRegister(b.References)
	if !b.Config.WithoutReferences {
		if err := i.hooks.InBackground("follow-references", b.References.Run); err != nil {
			return resourcesStage{}, err
		}
	}
	return resourcesStage{
		server: server, hooks: i.hooks, readiness: readiness, keep: admission.Keep,
		source: newInProcess(stores, i.Router, stored.shared),
		migrator: migration.New(migration.Config{
			Objects: stored.readable, Stores: stores, Custom: customResources, IsRemote: i.Router.IsRemote, Shorten: definitionStatus.Shorten,
			History: stored.recorder, Patience: b.Config.MigrationPatience, Rate: b.Config.MigrationRate,
		}),
		stored:         storedObjects{readable: stored.readable, custom: customResources, router: i.Router},
		storageVersion: customResources.StorageVersion, definition: customResources.Definition, definitionsRead: read, validity: checks,
		references: b.References, auditor: auditor,
	}, nil
}
