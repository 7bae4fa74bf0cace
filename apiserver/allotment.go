package apiserver

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/native"
)

// serviceRange and the node ports are the ranges of Kubernetes installers.
// serviceIP is the first address and belongs to the Service "kubernetes".
var serviceRange = netip.MustParsePrefix("10.96.0.0/16")

const (
	serviceIP     = "10.96.0.1"
	firstNodePort = 30000
	lastNodePort  = 32767

	repairEvery    = 3 * time.Minute
	releaseTimeout = 10 * time.Second
)

// allotment gives Services their cluster IPs and node ports. No traffic flows
// to them here; clients, and networks that are run elsewhere, expect them.
type allotment struct {
	services  *genericregistry.Store
	addresses claims
	ports     claims
}

// held is what a Service has: values by their claims.
type held struct{ addresses, ports []string }

func heldBy(service *corev1.Service) held {
	var h held
	if hasAddress(service) {
		h.addresses = []string{service.Spec.ClusterIP}
	}
	if !mayHavePorts(&service.Spec) {
		return h
	}
	for i := range service.Spec.Ports {
		if port := service.Spec.Ports[i].NodePort; port != 0 {
			h.ports = append(h.ports, strconv.Itoa(int(port)))
		}
	}
	if port := service.Spec.HealthCheckNodePort; port != 0 {
		h.ports = append(h.ports, strconv.Itoa(int(port)))
	}
	slices.Sort(h.ports)
	h.ports = slices.Compact(h.ports)
	return h
}

// without is what h has and other has not.
func (h held) without(other held) held {
	drop := func(values, others []string) []string {
		return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return slices.Contains(others, v) })
	}
	return held{addresses: drop(h.addresses, other.addresses), ports: drop(h.ports, other.ports)}
}

// mayHavePorts says that the node ports of a Service are its own. What one of another
// type has in those fields is nothing but a number.
func mayHavePorts(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer
}

func hasAddress(service *corev1.Service) bool {
	return service.Spec.ClusterIP != "" && service.Spec.ClusterIP != corev1.ClusterIPNone
}

func ownerOf(service *corev1.Service) networkingv1.ParentReference {
	return networkingv1.ParentReference{Resource: "services", Namespace: service.Namespace, Name: service.Name}
}

// beginCreate implements registry.BeginCreateFunc.
func (a *allotment) beginCreate(ctx context.Context, obj runtime.Object, options *metav1.CreateOptions) (genericregistry.FinishFunc, error) {
	return a.begin(ctx, obj, &corev1.Service{}, dryrun.IsDryRun(options.DryRun))
}

// beginUpdate implements registry.BeginUpdateFunc.
func (a *allotment) beginUpdate(ctx context.Context, obj, old runtime.Object, options *metav1.UpdateOptions) (genericregistry.FinishFunc, error) {
	return a.begin(ctx, obj, old, dryrun.IsDryRun(options.DryRun))
}

// afterDelete implements registry.AfterDeleteFunc.
func (a *allotment) afterDelete(obj runtime.Object, options *metav1.DeleteOptions) {
	service, ok := obj.(*corev1.Service)
	if !ok || dryrun.IsDryRun(options.DryRun) {
		return
	}
	// The object is gone whether or not its request still waits.
	a.release(ownerOf(service), heldBy(service))
}

// begin runs before the object is judged. It claims what newObj has or needs beyond oldObj. The function it returns
// keeps those claims and releases what oldObj had, or takes all of it back.
func (a *allotment) begin(ctx context.Context, newObj, oldObj runtime.Object, dryRun bool) (genericregistry.FinishFunc, error) {
	service, ok := newObj.(*corev1.Service)
	old, okOld := oldObj.(*corev1.Service)
	if !ok || !okOld {
		return nil, fmt.Errorf("unexpected objects %T, %T", newObj, oldObj)
	}
	native.KeepAllotted(&service.Spec, &old.Spec)
	t := taking{allotment: a, service: service, dryRun: dryRun, before: heldBy(old)}
	if err := t.takeAll(ctx); err != nil {
		if !dryRun {
			a.release(ownerOf(service), t.taken)
		}
		return nil, err
	}
	return func(_ context.Context, success bool) {
		switch {
		case dryRun:
		case success:
			a.release(ownerOf(service), t.before.without(heldBy(service)))
		default:
			a.release(ownerOf(service), t.taken)
		}
	}, nil
}

func (a *allotment) release(owner networkingv1.ParentReference, h held) {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	for _, address := range h.addresses {
		logLeftover(a.addresses.giveBack(ctx, address, owner))
	}
	for _, port := range h.ports {
		logLeftover(a.ports.giveBack(ctx, port, owner))
	}
}

func logLeftover(err error) {
	if err != nil {
		klog.V(1).InfoS("left for the next repair", "err", err)
	}
}

// repairUntil repairs at start and now and then, until ctx ends.
func (a *allotment) repairUntil(ctx context.Context) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := a.repair(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "claims of services are not repaired")
		}
	}, repairEvery)
}

// repair puts claims right that a killed server left behind.
func (a *allotment) repair(ctx context.Context) error {
	list := &corev1.ServiceList{}
	options := storage.ListOptions{Predicate: storage.Everything, Recursive: true}
	if err := a.services.Storage.GetList(ctx, a.services.KeyRootFunc(ctx), options, list); err != nil {
		return fmt.Errorf("list services: %w", err)
	}
	addresses, ports := map[string]networkingv1.ParentReference{}, map[string]networkingv1.ParentReference{}
	for i := range list.Items {
		h := heldBy(&list.Items[i])
		for _, address := range h.addresses {
			addresses[address] = ownerOf(&list.Items[i])
		}
		for _, port := range h.ports {
			ports[port] = ownerOf(&list.Items[i])
		}
	}
	if err := a.addresses.repair(ctx, addresses); err != nil {
		return err
	}
	return a.ports.repair(ctx, ports)
}
