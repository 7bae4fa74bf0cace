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

	// retryAfter is when what could not be written is tried again.
	retryAfter = time.Second
)

// Config says what is published.
type Config struct {
	// Client reads and writes as an administrator.
	Client kubernetes.Interface
	// Service is created when it is missing; its ports and labels are kept.
	Service *corev1.Service
	// Own is where this server is reached; the zero value publishes no address.
	Own netip.AddrPort
	// Identity tells this server from its replicas; empty says that there are
	// none, and every address that is not this server's is removed.
	Identity string
}

// Publisher keeps the Service and its endpoints. It runs once.
type Publisher struct {
	config Config
	// poked has something in it when there is work.
	poked chan struct{}
	// mu is held while endpoints are written; withdrawn ends that.
	mu        sync.Mutex
	withdrawn bool
	last      []netip.AddrPort
}

// New returns a publisher that has done nothing yet.
func New(config Config) *Publisher {
	return &Publisher{config: config, poked: make(chan struct{}, 1)}
}

// Publish writes what is missing or wrong. Replicas may do it at the same time.
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

// publishAddresses writes the endpoints of all servers that are there.
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

// Run publishes when something changed, until ctx ends.
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
		case <-p.poked:
			err = p.Publish(ctx)
		case now := <-tick:
			err = p.tick(ctx, now)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		// A conflict is another server that was quicker.
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			klog.ErrorS(err, "will be tried again", "service", name)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryAfter):
			p.poke()
		}
	}
}

// tick renews the Lease of this server, and publishes if a server came or died.
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

// Withdraw takes this server out of the list of replicas, while it still
// answers. Without replicas it does nothing: nobody else would be there.
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

// poke asks for work; once is enough.
func (p *Publisher) poke() {
	select {
	case p.poked <- struct{}{}:
	default:
	}
}

// publishService creates the Service, or puts right what clients rely on.
func (p *Publisher) publishService(ctx context.Context) error {
	services := p.config.Client.CoreV1().Services(metav1.NamespaceDefault)
	found, err := services.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = services.Create(ctx, p.config.Service, metav1.CreateOptions{})
		// Another server may have been faster: then the name or the address is taken.
		if apierrors.IsAlreadyExists(err) || apierrors.IsInvalid(err) {
			if _, taken := services.Get(ctx, name, metav1.GetOptions{}); taken == nil {
				return nil
			}
		}
		return err
	}
	if err != nil || found.DeletionTimestamp != nil {
		return err
	}
	right := found.DeepCopy()
	want := p.config.Service
	for key, value := range want.Labels {
		metav1.SetMetaDataLabel(&right.ObjectMeta, key, value)
	}
	if !p.samePorts(found.Spec.Ports, want.Spec.Ports) {
		right.Spec.Ports = want.Spec.Ports
	}
	// With a selector the endpoints would be somebody else's.
	right.Spec.Selector = nil
	if same(found, right) {
		return nil
	}
	_, err = services.Update(ctx, right, metav1.UpdateOptions{})
	return err
}

// samePorts compares ports; where a port leads is each replica's own.
func (p *Publisher) samePorts(have, want []corev1.ServicePort) bool {
	return slices.EqualFunc(have, want, func(a, b corev1.ServicePort) bool {
		return a.Name == b.Name && a.Port == b.Port && a.Protocol == b.Protocol && (p.config.Identity != "" || a.TargetPort == b.TargetPort)
	})
}
