package serviceip

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/native"
)

// allocation allocates the values that one Service lacks.
type allocation struct {
	*Allocator
	service   *corev1.Service
	dryRun    bool
	before    values
	allocated values
}

func (a *allocation) allocate(ctx context.Context) error {
	spec := &a.service.Spec
	if spec.Type != corev1.ServiceTypeExternalName {
		if err := a.allocateAddress(ctx); err != nil {
			return err
		}
	}
	if !hasNodePorts(spec) {
		return nil
	}
	return a.allocatePorts(ctx)
}

func (a *allocation) allocateAddress(ctx context.Context) error {
	spec := &a.service.Spec
	if len(a.before.addresses) == 0 && len(spec.ClusterIPs) > 0 && spec.ClusterIPs[0] != spec.ClusterIP {
		// The validation refuses the addresses. An allocation would replace them unnoticed.
		return nil
	}
	switch {
	case spec.ClusterIP == corev1.ClusterIPNone || slices.Contains(a.before.addresses, spec.ClusterIP):
	case spec.ClusterIP == "":
		// These are all addresses of the range except the first, the last, and that of the
		// Service "kubernetes".
		free, err := a.allocateAny(ctx, a.addresses, a.ranges.size()-3, func(i int) string { return a.ranges.address(i + 2) })
		if err != nil {
			return err
		}
		spec.ClusterIP = free
		a.allocated.addresses = []string{free}
	default:
		if err := a.allocateThisAddress(ctx); err != nil {
			return err
		}
	}
	// The validation refuses further entries, and an entry beside a kept address that differs from it.
	isKept := slices.Contains(a.before.addresses, spec.ClusterIP)
	if len(spec.ClusterIPs) == 0 || len(spec.ClusterIPs) == 1 && !isKept {
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	return nil
}

func (a *allocation) allocateThisAddress(ctx context.Context) error {
	wanted := a.service.Spec.ClusterIP
	refuse := func(why string) error {
		return a.invalid(field.Invalid(field.NewPath("spec", "clusterIPs"), []string{wanted}, "failed to allocate IP "+wanted+": "+why))
	}
	// The validation rules refuse a text that is no IP address, with its path.
	address, _ := netip.ParseAddr(wanted)
	if !address.IsValid() {
		return nil
	}
	if !a.ranges.Addresses.Contains(address) {
		return refuse("the provided IP is not in the valid range. The range of valid IPs is " + a.ranges.Addresses.String())
	}
	ok, err := a.addresses.claim(ctx, wanted, ownerOf(a.service), a.dryRun)
	if err != nil {
		return a.failed(err)
	}
	if !ok {
		return refuse("provided IP is already allocated")
	}
	a.allocated.addresses = []string{wanted}
	return nil
}

func (a *allocation) allocatePorts(ctx context.Context) error {
	ports := a.service.Spec.Ports
	// The node ports that the client names are claimed first, so that none of them is
	// allocated to a port without a number.
	for i := range ports {
		if err := a.allocateThisPort(ctx, field.NewPath("spec", "ports").Index(i).Child("nodePort"), ports[i].NodePort); err != nil {
			return err
		}
	}
	for i := range ports {
		if ports[i].NodePort != 0 || !native.HasNodePorts(&a.service.Spec) {
			continue
		}
		port, err := a.allocateAnyPort(ctx)
		if err != nil {
			return err
		}
		ports[i].NodePort = port
	}
	return a.allocateHealthPort(ctx)
}

// allocateHealthPort allocates the health check node port of a load balancer with
// externalTrafficPolicy Local. At this port the load balancer asks each node whether the node
// has an endpoint. Validation refuses the port of another Service.
func (a *allocation) allocateHealthPort(ctx context.Context) (err error) {
	spec := &a.service.Spec
	if !native.HasHealthPort(spec) {
		return nil
	}
	if spec.HealthCheckNodePort == 0 {
		spec.HealthCheckNodePort, err = a.allocateAnyPort(ctx)
		return err
	}
	return a.allocateThisPort(ctx, field.NewPath("spec", "healthCheckNodePort"), spec.HealthCheckNodePort)
}

func (a *allocation) allocateThisPort(ctx context.Context, path *field.Path, port int32) error {
	value := strconv.Itoa(int(port))
	if port == 0 || slices.Contains(a.before.ports, value) || slices.Contains(a.allocated.ports, value) {
		return nil
	}
	if !a.ranges.NodePorts.Contains(int(port)) {
		return a.invalid(field.Invalid(path, port,
			fmt.Sprintf("provided port is not in the valid range. The range of valid ports is %s", a.ranges.NodePorts.String())))
	}
	ok, err := a.ports.claim(ctx, value, ownerOf(a.service), a.dryRun)
	if err != nil {
		return a.failed(err)
	}
	if !ok {
		return a.invalid(field.Invalid(path, port, "provided port is already allocated"))
	}
	a.allocated.ports = append(a.allocated.ports, value)
	return nil
}

func (a *allocation) allocateAnyPort(ctx context.Context) (int32, error) {
	ports := a.ranges.NodePorts
	value, err := a.allocateAny(ctx, a.ports, ports.Size, func(i int) string { return strconv.Itoa(ports.Base + i) })
	if err != nil {
		return 0, err
	}
	a.allocated.ports = append(a.allocated.ports, value)
	port, err := strconv.ParseInt(value, 10, 32)
	return int32(port), err
}

// allocateAny claims the first free of n values. It starts at a random one: two
// servers that start at the same value would collide at every step.
func (a *allocation) allocateAny(ctx context.Context, from claims, n int, value func(i int) string) (string, error) {
	start := rand.IntN(n)
	for i := range n {
		candidate := value((start + i) % n)
		ok, err := from.claim(ctx, candidate, ownerOf(a.service), a.dryRun)
		if err != nil {
			return "", a.failed(err)
		}
		if ok {
			return candidate, nil
		}
	}
	return "", apierrors.NewInternalError(fmt.Errorf("no free value: all %d are taken", n))
}

// failed returns the answer to a request for a Service if a claim failed. The Service is not stored. If the claim is, repair releases it.
func (a *allocation) failed(err error) error {
	return connection.TryAgain(err, corev1.Resource("services"), "allocate")
}

func (a *allocation) invalid(err *field.Error) error {
	return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), a.service.Name, field.ErrorList{err})
}
