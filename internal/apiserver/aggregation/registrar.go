package aggregation

import (
	"context"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/component-base/metrics/legacyregistry"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationclient "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/controllers/autoregister"
	localavailability "k8s.io/kube-aggregator/pkg/controllers/status/local"
	availabilitymetrics "k8s.io/kube-aggregator/pkg/controllers/status/metrics"
)

// registrarWorkers is how many local APIServices are written at the same time.
const registrarWorkers = 4

// metrics returns the metrics about the availability of APIServices. All servers of a process
// share them, because the process has one registry and each metric is registered once.
var metrics = sync.OnceValues(func() (*availabilitymetrics.Metrics, error) {
	m := availabilitymetrics.New()
	return m, m.Register(legacyregistry.Register, legacyregistry.CustomRegister)
})

// Registrar creates an APIService for each group version that this server serves itself, and
// deletes those of definitions that are gone. Nothing in this server depends on these
// objects. Clients read in them which server serves which API.
type Registrar struct {
	all       informer
	register  autoregister.AutoAPIServiceRegistration
	run       func(workers int, stop <-chan struct{})
	available *localavailability.AvailableConditionController

	// builtIn are the group versions of built-in kinds.
	builtIn []schema.GroupVersion

	mu sync.Mutex
	// custom has the registered versions of the groups of definitions.
	custom map[string][]string
}

// NewRegistrar returns the controller of local APIServices. It writes them with the client.
func NewRegistrar(store *genericregistry.Store, client apiregistrationclient.APIServicesGetter) (*Registrar, error) {
	measured, err := metrics()
	if err != nil {
		return nil, fmt.Errorf("metrics of APIServices: %w", err)
	}
	all := newInformer(store, func(*apiregistrationv1.APIService) bool { return true }, 0)
	register := autoregister.NewAutoRegisterController(all, client)
	available, err := localavailability.New(all, client, measured)
	if err != nil {
		return nil, err
	}
	return &Registrar{all: all, register: register, run: register.Run, available: available, custom: map[string][]string{}}, nil
}

// AddBuiltIn registers a group version of built-in kinds. As in Kubernetes, its APIService is
// written once after the start.
func (r *Registrar) AddBuiltIn(gv schema.GroupVersion) {
	r.builtIn = append(r.builtIn, gv)
	r.register.AddAPIServiceToSyncOnStart(&apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: nameOf(gv)}, Spec: builtInSpec(gv),
	})
}

// Prioritize sets the priorities of the built-in groups in discovery. The groups must be
// installed.
func (r *Registrar) Prioritize(discovery aggregated.ResourceManager) {
	for _, gv := range r.builtIn {
		spec := builtInSpec(gv)
		discovery.SetGroupVersionPriority(metav1.GroupVersion(gv), int(spec.GroupPriorityMinimum), int(spec.VersionPriority))
	}
}

// SetCustom registers the versions of a group of definitions in place of its earlier ones. As
// in Kubernetes, their APIServices are restored if a client changes or deletes them.
func (r *Registrar) SetCustom(group string, versions []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.custom[group]
	for _, version := range versions {
		if !slices.Contains(before, version) {
			gv := schema.GroupVersion{Group: group, Version: version}
			r.register.AddAPIServiceToSync(&apiregistrationv1.APIService{
				ObjectMeta: metav1.ObjectMeta{Name: nameOf(gv)},
				Spec: apiregistrationv1.APIServiceSpec{
					Group: group, Version: version, GroupPriorityMinimum: customGroupPriority, VersionPriority: customVersionPriority,
				},
			})
		}
	}
	for _, version := range before {
		if !slices.Contains(versions, version) {
			r.register.RemoveAPIServiceToSync(nameOf(schema.GroupVersion{Group: group, Version: version}))
		}
	}
	if len(versions) == 0 {
		delete(r.custom, group)
		return
	}
	r.custom[group] = slices.Clone(versions)
}

// Run writes the APIServices until ctx ends. It begins when read is closed, after all stored
// definitions were registered. If it began earlier, it would delete the APIServices of
// definitions that are not registered yet.
func (r *Registrar) Run(ctx context.Context, read <-chan struct{}) {
	select {
	case <-read:
	case <-ctx.Done():
		return
	}
	go r.all.shared.RunWithContext(ctx)
	go r.available.Run(1, ctx.Done())
	r.run(registrarWorkers, ctx.Done())
}

// nameOf returns the name of the APIService of a group version.
func nameOf(gv schema.GroupVersion) string { return gv.Version + "." + gv.Group }
