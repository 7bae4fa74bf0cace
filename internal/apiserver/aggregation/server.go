package aggregation

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	proxyrequest "k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/transport"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/apiserver"
	apiregistrationclient "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/controllers/status/remote"

	"holdfast.dev/holdfast/internal/native"
)

// availabilityWorkers is how many remote APIServices are checked at the same time. A check of
// a server that does not answer takes six seconds.
const availabilityWorkers = 5

// Config configures a Server. All fields are required.
type Config struct {
	// Router gets the proxies.
	Router *Router
	// Store has the APIServices. Client writes their status.
	Store  *genericregistry.Store
	Client apiregistrationclient.APIServicesGetter
	// Kube reads Services and EndpointSlices.
	Kube kubernetes.Interface
	// Identity is the client certificate of this server.
	Identity *dynamiccertificates.DynamicCertKeyPairContent
	// Groups and Aggregated hold the discovery documents for /apis.
	Groups     discovery.GroupManager
	Aggregated aggregated.ResourceManager
	// Documents publishes OpenAPI documents.
	Documents Publisher
}

// Server serves the APIs of other servers. It starts most of its controllers with the first
// remote APIService: a server without one has no cache of Services and EndpointSlices.
type Server struct {
	config    Config
	remote    informer
	dial      *transport.DialHolder
	reserved  map[string]bool
	register  *aggregator.APIServiceRegistrationController
	discovery aggregator.DiscoveryAggregationController
	documents *documents

	// running is the context of Start. begin starts the controllers of remote APIServices.
	running  context.Context
	begin    func() error
	resolver resolver

	mu      sync.Mutex
	proxies map[schema.GroupVersion]*proxy
}

// New returns a server. It serves nothing before Start.
func New(config Config) *Server {
	s := &Server{
		config: config, dial: &transport.DialHolder{Dial: dial}, reserved: native.Groups(),
		discovery: aggregator.NewDiscoveryManager(config.Aggregated.WithSource(aggregated.AggregatorSource)),
		documents: newDocuments(config.Documents),
		proxies:   map[schema.GroupVersion]*proxy{},
	}
	s.begin = sync.OnceValue(s.startRemote)
	s.remote = newInformer(config.Store, s.isRemote, resyncRemote)
	s.register = aggregator.NewAPIServiceRegistrationController(s.remote, s)
	config.Identity.AddListener(s.register)
	return s
}

// isRemote reports whether an APIService is remote and has a group that other servers may
// serve. Validation refuses the other groups, but the store can have older objects.
func (s *Server) isRemote(service *apiregistrationv1.APIService) bool {
	return service.Spec.Service != nil && !s.reserved[service.Spec.Group]
}

// Start serves the list of groups, and the remote APIServices until ctx ends. It returns when those that exist at
// this moment have their proxies.
func (s *Server) Start(ctx context.Context) error {
	s.running = ctx
	if err := s.config.Identity.RunOnce(ctx); err != nil {
		return fmt.Errorf("client certificate for other servers: %w", err)
	}
	go s.config.Identity.Run(ctx, 1)
	s.mu.Lock()
	s.route()
	s.mu.Unlock()
	go s.remote.shared.RunWithContext(ctx)
	registered := make(chan struct{})
	go s.register.Run(ctx.Done(), registered)
	select {
	case <-registered:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// startRemote starts the controllers that only remote APIServices need.
func (s *Server) startRemote() error {
	factory := informers.NewSharedInformerFactory(s.config.Kube, 0)
	services, slices := factory.Core().V1().Services(), factory.Discovery().V1().EndpointSlices()
	endpoints, err := proxyrequest.NewEndpointSliceIndexerGetter(slices)
	if err != nil {
		return err
	}
	s.resolver = aggregator.NewEndpointServiceResolver(services.Lister(), endpoints)
	measured, err := metrics()
	if err != nil {
		return err
	}
	available, err := remote.New(s.remote, services, slices, s.config.Client, s.dial, s.config.Identity.CurrentCertKeyContent,
		s.resolver, measured)
	if err != nil {
		return err
	}
	factory.Start(s.running.Done())
	go available.Run(availabilityWorkers, s.running.Done())
	go s.discovery.Run(s.running.Done(), nil)
	go s.documents.run(s.running)
	return nil
}

// AddAPIService implements APIHandlerManager of the library: it serves a remote APIService
// that was created or changed. The library calls it from one goroutine only.
func (s *Server) AddAPIService(service *apiregistrationv1.APIService) error {
	if err := s.begin(); err != nil {
		return err
	}
	p := s.newProxy(withBoundedPriority(service))
	s.mu.Lock()
	s.proxies[p.groupVersion()] = p
	s.route()
	s.mu.Unlock()
	s.discovery.AddAPIService(p.service, fetcher{p})
	s.documents.set(service.Name, p)
	return nil
}

// RemoveAPIService implements APIHandlerManager of the library: it stops serving a remote
// APIService.
func (s *Server) RemoveAPIService(name string) {
	s.mu.Lock()
	maps.DeleteFunc(s.proxies, func(gv schema.GroupVersion, _ *proxy) bool { return nameOf(gv) == name })
	s.route()
	s.mu.Unlock()
	s.discovery.RemoveAPIService(name)
	s.documents.set(name, nil)
}

// route gives the router the current proxies. The caller holds mu.
func (s *Server) route() {
	groups := newGroups(s.config.Groups, s.config.Aggregated, s.proxies)
	s.config.Router.store(s.proxies, groups.list(), groups.one())
}

func (s *Server) newProxy(service *apiregistrationv1.APIService) *proxy {
	p := &proxy{service: service, resolver: s.resolver}
	cert, key := s.config.Identity.CurrentCertKeyContent()
	p.transport, p.err = transport.New(remote.BuildTransportConfig(s.dial, cert, key, service))
	return p
}
