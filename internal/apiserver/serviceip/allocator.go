package serviceip

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/failpoint"
	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/replacement"
)

// Ports is the resource under which the claims of node ports are stored. No API
// serves it.
var Ports = schema.GroupResource{Group: networkingv1.GroupName, Resource: "nodeports"}

const (
	repairEvery    = 3 * time.Minute
	releaseTimeout = 10 * time.Second
)

// Config has the ranges and the stores of an Allocator.
type Config struct {
	// Ranges must come from Ranges.WithDefaults.
	Ranges Ranges
	// Services is the store of Services.
	Services *genericregistry.Store
	// Addresses is the storage of IPAddresses, which are the claims of cluster IPs.
	Addresses genericregistry.DryRunnableStorage
	// PortClaims is the storage for the claims of node ports.
	PortClaims genericregistry.DryRunnableStorage
}

// Allocator allocates cluster IPs and node ports to Services. The server routes no
// traffic to them; clients, and networks that run elsewhere, expect them.
type Allocator struct {
	ranges    Ranges
	services  *genericregistry.Store
	addresses claims
	ports     claims
}

// New returns an allocator and makes the store of Services allocate and release
// through it. The AfterDelete function that the store has stays in force.
func New(config Config) *Allocator {
	a := &Allocator{
		ranges:    config.Ranges,
		services:  config.Services,
		addresses: claims{storage: config.Addresses, prefix: "/ipaddresses/"},
		ports:     claims{storage: config.PortClaims, prefix: "/" + Ports.Resource + "/"},
	}
	config.Services.BeginCreate, config.Services.BeginUpdate = a.beginCreate, a.beginUpdate
	next := config.Services.AfterDelete
	config.Services.AfterDelete = func(obj runtime.Object, options *metav1.DeleteOptions) {
		a.afterDelete(obj, options)
		if next != nil {
			next(obj, options)
		}
	}
	return a
}

// values are the cluster IPs and node ports of a Service.
type values struct{ addresses, ports []string }

func valuesOf(service *corev1.Service) values {
	var v values
	if hasAddress(service) {
		v.addresses = []string{service.Spec.ClusterIP}
	}
	if !hasNodePorts(&service.Spec) {
		return v
	}
	for i := range service.Spec.Ports {
		if port := service.Spec.Ports[i].NodePort; port != 0 {
			v.ports = append(v.ports, strconv.Itoa(int(port)))
		}
	}
	if port := service.Spec.HealthCheckNodePort; port != 0 {
		v.ports = append(v.ports, strconv.Itoa(int(port)))
	}
	slices.Sort(v.ports)
	v.ports = slices.Compact(v.ports)
	return v
}

// without returns the values of v that are not in other.
func (v values) without(other values) values {
	drop := func(own, others []string) []string {
		return slices.DeleteFunc(slices.Clone(own), func(value string) bool { return slices.Contains(others, value) })
	}
	return values{addresses: drop(v.addresses, other.addresses), ports: drop(v.ports, other.ports)}
}

// hasNodePorts says whether the type of a Service has node ports. In a Service of another
// type the server allocates nothing for these fields.
func hasNodePorts(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer
}

func hasAddress(service *corev1.Service) bool {
	return service.Spec.ClusterIP != "" && service.Spec.ClusterIP != corev1.ClusterIPNone
}

func ownerOf(service *corev1.Service) networkingv1.ParentReference {
	return networkingv1.ParentReference{Resource: "services", Namespace: service.Namespace, Name: service.Name}
}

// beginCreate implements registry.BeginCreateFunc. A Service that replaces another one may take over its values, but need not.
func (a *Allocator) beginCreate(
	ctx context.Context, obj runtime.Object, options *metav1.CreateOptions,
) (genericregistry.FinishFunc, error) {
	var held values
	if swap := replacement.From(ctx); swap != nil {
		if old, ok := swap.Old.(*corev1.Service); ok {
			held = valuesOf(old)
		}
	}
	return a.begin(ctx, change{obj, &corev1.Service{}, held, dryrun.IsDryRun(options.DryRun)})
}

// beginUpdate implements registry.BeginUpdateFunc.
func (a *Allocator) beginUpdate(
	ctx context.Context, obj, old runtime.Object, options *metav1.UpdateOptions,
) (genericregistry.FinishFunc, error) {
	service, ok := old.(*corev1.Service)
	if !ok {
		return nil, fmt.Errorf("unexpected object %T", old)
	}
	return a.begin(ctx, change{obj, service, valuesOf(service), dryrun.IsDryRun(options.DryRun)})
}

// afterDelete implements registry.AfterDeleteFunc.
func (a *Allocator) afterDelete(obj runtime.Object, options *metav1.DeleteOptions) {
	service, ok := obj.(*corev1.Service)
	if !ok || dryrun.IsDryRun(options.DryRun) {
		return
	}
	a.release(ownerOf(service), valuesOf(service))
}

// change is a write of a Service.
type change struct {
	object runtime.Object
	// old is the Service before an update. It is empty for a new one.
	old *corev1.Service
	// held are the values that the name of the Service holds before the write.
	held   values
	dryRun bool
}

// begin runs before the object is validated. It allocates the values that the object
// names or needs beyond those that its name holds. If the write succeeds, the function that it
// returns releases the values that the object does not have. If the write fails, that
// function releases the values allocated here that the stored object does not have.
func (a *Allocator) begin(ctx context.Context, c change) (genericregistry.FinishFunc, error) {
	service, ok := c.object.(*corev1.Service)
	if !ok {
		return nil, fmt.Errorf("unexpected object %T", c.object)
	}
	old, dryRun := c.old, c.dryRun
	native.KeepAllocated(&service.Spec, &old.Spec)
	setFamilies(&service.Spec, &old.Spec)
	if errs := checkFamilies(&service.Spec, &old.Spec); len(errs) > 0 {
		return nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), service.Name, errs)
	}
	current := allocation{Allocator: a, service: service, dryRun: dryRun, before: c.held}
	if err := current.allocate(ctx); err != nil {
		if !dryRun {
			a.release(ownerOf(service), current.allocated)
		}
		return nil, err
	}
	failpoint.Reach("serviceip:allocated")
	return func(_ context.Context, success bool) {
		switch {
		case dryRun:
		case success:
			failpoint.Reach("serviceip:stored")
			a.release(ownerOf(service), current.before.without(valuesOf(service)))
		default:
			a.releaseFailed(service, current.allocated)
		}
	}, nil
}

// releaseFailed releases the values that were allocated for a write that failed, except those that the stored Service has: etcd may have stored
// it without an answer. If the server cannot read the Service, the claims stay. If they have no Service, repair releases them.
func (a *Allocator) releaseFailed(service *corev1.Service, allocated values) {
	ctx, cancel := context.WithTimeout(genericapirequest.WithNamespace(context.Background(), service.Namespace), releaseTimeout)
	defer cancel()
	stored := &corev1.Service{}
	key, err := a.services.KeyFunc(ctx, service.Name)
	if err == nil {
		err = a.services.Storage.Get(ctx, key, storage.GetOptions{IgnoreNotFound: true}, stored)
	}
	if err != nil {
		logLeftover(err)
		return
	}
	a.release(ownerOf(service), allocated.without(valuesOf(stored)))
}

// release releases values of an owner. It does not use the context of the request, so that
// it works even if the client has disconnected.
func (a *Allocator) release(owner networkingv1.ParentReference, v values) {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	for _, address := range v.addresses {
		logLeftover(a.addresses.release(ctx, address, owner))
	}
	for _, port := range v.ports {
		logLeftover(a.ports.release(ctx, port, owner))
	}
}

func logLeftover(err error) {
	if err != nil {
		klog.V(1).InfoS("claim not released; the next repair releases it", "err", err)
	}
}

// Run repairs the claims at the start and every few minutes, until ctx ends.
func (a *Allocator) Run(ctx context.Context) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := a.repair(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "claims of services are not repaired")
		}
	}, repairEvery)
}

// repair corrects the claims after a server was killed: it releases claims without a
// Service, and adds missing claims.
func (a *Allocator) repair(ctx context.Context) error {
	list := &corev1.ServiceList{}
	options := storage.ListOptions{Predicate: storage.Everything, Recursive: true}
	if err := a.services.Storage.GetList(ctx, a.services.KeyRootFunc(ctx), options, list); err != nil {
		return fmt.Errorf("list services: %w", err)
	}
	addresses, ports := map[string]networkingv1.ParentReference{}, map[string]networkingv1.ParentReference{}
	for i := range list.Items {
		v := valuesOf(&list.Items[i])
		for _, address := range v.addresses {
			addresses[address] = ownerOf(&list.Items[i])
		}
		for _, port := range v.ports {
			ports[port] = ownerOf(&list.Items[i])
		}
	}
	if err := a.addresses.repair(ctx, addresses); err != nil {
		return err
	}
	if err := failpoint.Fail("serviceip:repair"); err != nil {
		return err
	}
	return a.ports.repair(ctx, ports)
}
