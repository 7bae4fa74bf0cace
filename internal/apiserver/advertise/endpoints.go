package advertise

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const portName = "https"

// same compares two API objects.
func same(a, b any) bool { return apiequality.Semantic.DeepEqual(a, b) }

// publishEndpoints writes the Endpoints. Old clients read them instead of EndpointSlices.
func (p *Publisher) publishEndpoints(ctx context.Context, servers []netip.AddrPort) error {
	endpoints := p.config.Client.CoreV1().Endpoints(metav1.NamespaceDefault)
	found, err := endpoints.Get(ctx, name, metav1.GetOptions{})
	subsets := subsets(servers)
	if apierrors.IsNotFound(err) {
		if len(subsets) == 0 {
			return nil
		}
		_, err = endpoints.Create(ctx, &corev1.Endpoints{ObjectMeta: meta(name), Subsets: subsets}, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	updated := found.DeepCopy()
	// The publisher writes the EndpointSlices itself. The label keeps other controllers
	// from creating them from the Endpoints.
	metav1.SetMetaDataLabel(&updated.ObjectMeta, discoveryv1.LabelSkipMirror, "true")
	updated.Subsets = subsets
	if same(found, updated) {
		return nil
	}
	_, err = endpoints.Update(ctx, updated, metav1.UpdateOptions{})
	return err
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelSkipMirror: "true"}}
}

// subsets groups the servers by port.
func subsets(servers []netip.AddrPort) []corev1.EndpointSubset {
	var all []corev1.EndpointSubset
	for _, port := range ports(servers) {
		subset := corev1.EndpointSubset{
			Ports: []corev1.EndpointPort{{Name: portName, Port: int32(port), Protocol: corev1.ProtocolTCP}},
		}
		for _, server := range servers {
			if server.Port() == port {
				subset.Addresses = append(subset.Addresses, corev1.EndpointAddress{IP: server.Addr().String()})
			}
		}
		all = append(all, subset)
	}
	return all
}

func ports(servers []netip.AddrPort) []uint16 {
	var all []uint16
	for _, server := range servers {
		all = append(all, server.Port())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ownSlice matches the names of the slices that the publisher writes.
var ownSlice = regexp.MustCompile(`^kubernetes(-[0-9]+-ipv[46])?$`)

// publishSlices writes an EndpointSlice for each port and address family, and deletes those
// that have no server any more.
func (p *Publisher) publishSlices(ctx context.Context, servers []netip.AddrPort) error {
	slicesClient := p.config.Client.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault)
	list, err := slicesClient.List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + name})
	if err != nil {
		return err
	}
	wanted := wantedSlices(servers)
	for i := range list.Items {
		found := &list.Items[i]
		at := slices.IndexFunc(wanted, func(s *discoveryv1.EndpointSlice) bool { return s.Name == found.Name })
		if at < 0 || wanted[at].AddressType != found.AddressType {
			// The slice has no server any more, or it has the wrong address family. The
			// family of a slice cannot change, so such a slice is created again below.
			if !ownSlice.MatchString(found.Name) {
				continue
			}
			// Another server may have replaced the slice since.
			unchanged := &metav1.Preconditions{UID: &found.UID, ResourceVersion: &found.ResourceVersion}
			err := slicesClient.Delete(ctx, found.Name, metav1.DeleteOptions{Preconditions: unchanged})
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
			continue
		}
		updated := found.DeepCopy()
		updated.Endpoints, updated.Ports = wanted[at].Endpoints, wanted[at].Ports
		wanted = slices.Delete(wanted, at, at+1)
		if same(found, updated) {
			continue
		}
		if _, err := slicesClient.Update(ctx, updated, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	for _, missing := range wanted {
		if _, err := slicesClient.Create(ctx, missing, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// wantedSlices returns the slices for the servers. The first one has the name of the only
// slice in Kubernetes.
func wantedSlices(servers []netip.AddrPort) []*discoveryv1.EndpointSlice {
	var all []*discoveryv1.EndpointSlice
	for _, port := range ports(servers) {
		for _, family := range []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6} {
			slice := &discoveryv1.EndpointSlice{
				ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
				AddressType: family,
				Ports: []discoveryv1.EndpointPort{{
					Name: ptr(portName), Port: ptr(int32(port)), Protocol: ptr(corev1.ProtocolTCP),
				}},
			}
			if len(all) > 0 {
				slice.Name = fmt.Sprintf("%s-%d-ip%s", name, port, map[discoveryv1.AddressType]string{
					discoveryv1.AddressTypeIPv4: "v4", discoveryv1.AddressTypeIPv6: "v6",
				}[family])
			}
			for _, server := range servers {
				if server.Port() == port && server.Addr().Is4() == (family == discoveryv1.AddressTypeIPv4) {
					slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
						Addresses: []string{server.Addr().String()}, Conditions: discoveryv1.EndpointConditions{Ready: ptr(true)},
					})
				}
			}
			if len(slice.Endpoints) > 0 {
				all = append(all, slice)
			}
		}
	}
	return all
}

func ptr[T any](v T) *T { return &v }
