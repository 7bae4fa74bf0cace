package apiserver

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

	"holdfast.dev/holdfast/native"
)

// taking is one Service being given what it lacks.
type taking struct {
	*allotment
	service *corev1.Service
	dryRun  bool
	before  held
	taken   held
}

func (t *taking) takeAll(ctx context.Context) error {
	spec := &t.service.Spec
	if spec.Type != corev1.ServiceTypeExternalName {
		if err := t.takeAddress(ctx); err != nil {
			return err
		}
	}
	if !mayHavePorts(spec) {
		return nil
	}
	return t.takePorts(ctx)
}

func (t *taking) takeAddress(ctx context.Context) error {
	spec := &t.service.Spec
	switch {
	case spec.ClusterIP == corev1.ClusterIPNone || slices.Contains(t.before.addresses, spec.ClusterIP):
	case spec.ClusterIP == "":
		free, err := t.any(ctx, t.addresses, 1<<(32-serviceRange.Bits())-3, func(i int) string { return nthAddress(i + 2) })
		if err != nil {
			return err
		}
		spec.ClusterIP = free
		t.taken.addresses = []string{free}
	default:
		if err := t.takeThisAddress(ctx); err != nil {
			return err
		}
	}
	spec.ClusterIPs = []string{spec.ClusterIP}
	return nil
}

func (t *taking) takeThisAddress(ctx context.Context) error {
	wanted := t.service.Spec.ClusterIP
	refuse := func(why string) error {
		return t.invalid(field.Invalid(field.NewPath("spec", "clusterIPs"), []string{wanted}, "failed to allocate IP "+wanted+": "+why))
	}
	// What is no address at all is refused by the rules, with its path.
	address, _ := netip.ParseAddr(wanted)
	if !address.IsValid() {
		return nil
	}
	if !serviceRange.Contains(address) {
		return refuse("the provided IP is not in the valid range. The range of valid IPs is " + serviceRange.String())
	}
	ok, err := t.addresses.take(ctx, wanted, ownerOf(t.service), t.dryRun)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if !ok {
		return refuse("provided IP is already allocated")
	}
	t.taken.addresses = []string{wanted}
	return nil
}

func (t *taking) takePorts(ctx context.Context) error {
	ports := t.service.Spec.Ports
	// Those asked for come first, so that none of them is given away here.
	for i := range ports {
		if err := t.takeThisPort(ctx, field.NewPath("spec", "ports").Index(i).Child("nodePort"), ports[i].NodePort); err != nil {
			return err
		}
	}
	for i := range ports {
		if ports[i].NodePort != 0 || !native.HasNodePorts(&t.service.Spec) {
			continue
		}
		port, err := t.anyPort(ctx)
		if err != nil {
			return err
		}
		ports[i].NodePort = port
	}
	return t.takeHealthPort(ctx)
}

// takeHealthPort serves load balancers that keep the client's address: they ask
// each node whether it has an endpoint.
func (t *taking) takeHealthPort(ctx context.Context) (err error) {
	spec := &t.service.Spec
	if spec.Type != corev1.ServiceTypeLoadBalancer || spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
		spec.HealthCheckNodePort = 0
		return nil
	}
	if spec.HealthCheckNodePort == 0 {
		spec.HealthCheckNodePort, err = t.anyPort(ctx)
		return err
	}
	return t.takeThisPort(ctx, field.NewPath("spec", "healthCheckNodePort"), spec.HealthCheckNodePort)
}

func (t *taking) takeThisPort(ctx context.Context, path *field.Path, port int32) error {
	value := strconv.Itoa(int(port))
	if port == 0 || slices.Contains(t.before.ports, value) || slices.Contains(t.taken.ports, value) {
		return nil
	}
	if port < firstNodePort || port > lastNodePort {
		return t.invalid(field.Invalid(path, port,
			fmt.Sprintf("provided port is not in the valid range. The range of valid ports is %d-%d", firstNodePort, lastNodePort)))
	}
	ok, err := t.ports.take(ctx, value, ownerOf(t.service), t.dryRun)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if !ok {
		return t.invalid(field.Invalid(path, port, "provided port is already allocated"))
	}
	t.taken.ports = append(t.taken.ports, value)
	return nil
}

func (t *taking) anyPort(ctx context.Context) (int32, error) {
	value, err := t.any(ctx, t.ports, lastNodePort-firstNodePort+1, func(i int) string { return strconv.Itoa(firstNodePort + i) })
	if err != nil {
		return 0, err
	}
	t.taken.ports = append(t.taken.ports, value)
	port, err := strconv.ParseInt(value, 10, 32)
	return int32(port), err
}

// any claims the first free of n values, from a random one on: two servers that
// begin at the same place would meet at every step.
func (t *taking) any(ctx context.Context, from claims, n int, value func(i int) string) (string, error) {
	start := rand.IntN(n)
	for i := range n {
		candidate := value((start + i) % n)
		ok, err := from.take(ctx, candidate, ownerOf(t.service), t.dryRun)
		if err != nil {
			return "", apierrors.NewInternalError(err)
		}
		if ok {
			return candidate, nil
		}
	}
	return "", apierrors.NewInternalError(fmt.Errorf("no free value: all %d are taken", n))
}

func (t *taking) invalid(err *field.Error) error {
	return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), t.service.Name, field.ErrorList{err})
}

func nthAddress(n int) string {
	base := serviceRange.Addr().As4()
	number := uint32(base[0])<<24 | uint32(base[1])<<16 | uint32(base[2])<<8 | uint32(base[3])
	number += uint32(n)
	return netip.AddrFrom4([4]byte{byte(number >> 24), byte(number >> 16), byte(number >> 8), byte(number)}).String()
}
