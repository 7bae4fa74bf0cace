package advertise

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

const (
	name = "kubernetes"

	// retryAfter is the delay after an error.
	retryAfter = time.Second
)

// Config configures a Publisher.
type Config struct {
	// Client reads and writes as an administrator.
	Client kubernetes.Interface
	// Service is created if it is missing. The publisher restores its ports and labels, and
	// removes a selector.
	Service *corev1.Service
	// Own is the address of this server. The zero value publishes no address.
	Own netip.AddrPort
	// Identity distinguishes this server from its replicas. If it is empty, there are no
	// replicas, and the publisher removes all addresses of other servers.
	Identity string
	// Annotations are more annotations of the Lease of this server, read when the Lease is renewed. An empty value removes one. It may be nil.
	Annotations func() map[string]string
}

// Publisher maintains the Service and its endpoints. It runs once.
type Publisher struct {
	config Config
	// pending holds a value while there is work.
	pending chan struct{}
	// mu is held while endpoints are written.
	mu sync.Mutex
	// withdrawn is set by Withdraw. The publisher does not add its address afterwards.
	withdrawn bool
	// last are the addresses that were published last.
	last []netip.AddrPort
}

// New returns a publisher. It sends no request.
func New(config Config) *Publisher {
	return &Publisher{config: config, pending: make(chan struct{}, 1)}
}

// Publish creates the Service and its endpoints, or corrects them if they differ. Replicas
// may do it at the same time.
func (p *Publisher) Publish(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.withdrawn {
		return nil
	}
	if err := p.publishService(ctx); err != nil {
		return fmt.Errorf("service %s: %w", name, err)
	}
	if p.config.Identity != "" && p.config.Own.IsValid() {
		if err := p.renew(ctx, time.Now()); err != nil {
			return fmt.Errorf("lease of this server: %w", err)
		}
	}
	return p.publishAddresses(ctx)
}

// publishAddresses writes the endpoints of all live servers.
func (p *Publisher) publishAddresses(ctx context.Context) error {
	servers, err := p.servers(ctx, time.Now())
	if err != nil {
		return fmt.Errorf("leases of servers: %w", err)
	}
	if err := p.publishEndpoints(ctx, servers); err != nil {
		return fmt.Errorf("endpoints %s: %w", name, err)
	}
	if err := p.publishSlices(ctx, servers); err != nil {
		return fmt.Errorf("endpoint slices of %s: %w", name, err)
	}
	p.last = servers
	return nil
}

// Run publishes after each change, until ctx ends.
func (p *Publisher) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	p.watch(ctx, &running)
	var tick <-chan time.Time
	if p.config.Identity != "" {
		ticker := time.NewTicker(renewEvery)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-p.pending:
			err = p.Publish(ctx)
		case now := <-tick:
			err = p.tick(ctx, now)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		// A conflict means that another server wrote first.
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			klog.ErrorS(err, "the addresses of the servers are not published, will be tried again", "service", name)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryAfter):
			p.enqueue()
		}
	}
}

// tick renews the Lease of this server. If the list of live servers changed, it publishes.
func (p *Publisher) tick(ctx context.Context, now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.withdrawn {
		return nil
	}
	if p.config.Own.IsValid() {
		if err := p.renew(ctx, now); err != nil {
			return fmt.Errorf("lease of this server: %w", err)
		}
	}
	servers, err := p.servers(ctx, now)
	if err != nil || slices.Equal(servers, p.last) {
		return err
	}
	return p.publishAddresses(ctx)
}

// Withdraw removes the address of this server, while the server still answers requests.
// Without replicas it leaves the address in place, because no other server could answer
// instead. The publisher writes nothing afterwards.
func (p *Publisher) Withdraw(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.withdrawn = true
	if p.config.Identity == "" {
		return nil
	}
	err := p.config.Client.CoordinationV1().Leases(metav1.NamespaceSystem).Delete(ctx, p.leaseName(), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("lease of this server: %w", err)
	}
	return p.publishAddresses(ctx)
}

// enqueue makes Run publish. Several calls before that count as one.
func (p *Publisher) enqueue() {
	select {
	case p.pending <- struct{}{}:
	default:
	}
}

// publishService creates the Service, or corrects its labels, ports and selector.
func (p *Publisher) publishService(ctx context.Context) error {
	services := p.config.Client.CoreV1().Services(metav1.NamespaceDefault)
	found, err := services.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = services.Create(ctx, p.config.Service, metav1.CreateOptions{})
		// Another server may have created it first. Then the name or the cluster IP is in use.
		if apierrors.IsAlreadyExists(err) || apierrors.IsInvalid(err) {
			if _, getErr := services.Get(ctx, name, metav1.GetOptions{}); getErr == nil {
				return nil
			}
		}
		return err
	}
	if err != nil || found.DeletionTimestamp != nil {
		return err
	}
	updated := found.DeepCopy()
	want := p.config.Service
	for key, value := range want.Labels {
		metav1.SetMetaDataLabel(&updated.ObjectMeta, key, value)
	}
	if !p.samePorts(found.Spec.Ports, want.Spec.Ports) {
		updated.Spec.Ports = want.Spec.Ports
	}
	// With a selector, another controller would write the endpoints.
	updated.Spec.Selector = nil
	if same(found, updated) {
		return nil
	}
	_, err = services.Update(ctx, updated, metav1.UpdateOptions{})
	return err
}

// samePorts compares ports. With replicas it ignores the target port, because each
// replica may listen on another one.
func (p *Publisher) samePorts(have, want []corev1.ServicePort) bool {
	return slices.EqualFunc(have, want, func(a, b corev1.ServicePort) bool {
		return a.Name == b.Name && a.Port == b.Port && a.Protocol == b.Protocol && (p.config.Identity != "" || a.TargetPort == b.TargetPort)
	})
}
