package start

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/metrics/legacyregistry"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/selection"
	"holdfast.dev/holdfast/internal/lifecycle/collection"
	"holdfast.dev/holdfast/internal/operator/controller"
	"holdfast.dev/holdfast/internal/protection"
)

// metricsPath is the path of the metrics.
const metricsPath = "/metrics"

// Metrics are Holdfast's own metrics of one server. The metrics of the libraries are in a registry that
// all servers of the process share.
type Metrics struct {
	*prometheus.Registry
	refusals protection.Refusals
	// Plans counts the plans of operator packages.
	Plans *controller.Metrics
	// Collection counts the unused ConfigMaps and Secrets that are deleted.
	Collection *collection.Metrics
}

func newMetrics() Metrics {
	m := Metrics{Registry: prometheus.NewRegistry(), refusals: protection.NewRefusals(), Plans: controller.NewMetrics(), Collection: collection.NewMetrics()}
	m.MustRegister(m.refusals, m.Plans, m.Collection)
	return m
}

// CountRefusals counts the writes that protections refuse, and tells a function of each. The function may be nil.
func (m Metrics) CountRefusals(config *genericapiserver.Config, tell func(context.Context, []protection.Refusal)) {
	inner := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(next http.Handler, c *genericapiserver.Config) http.Handler {
		return inner(m.refusals.Filter(next, tell), c)
	}
}

// CountAgents counts the nodes that watch the objects of their pods.
func (m Metrics) CountAgents(selected *selection.Selection) {
	m.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "holdfast_agents_connected", Help: "Nodes that have a watch open on this server for the ConfigMaps and Secrets of their pods.",
	}, func() float64 { return float64(selected.Nodes()) }))
}

// MeasureStorage adds the size of the database of etcd, with the name that it has in Kubernetes. The library has this metric too, but
// for the whole process, and it opens a connection of its own for it.
func (m Metrics) MeasureStorage(client *etcd.Client) { m.MustRegister(storageSize{client}) }

// storageSize collects the size of the database. It is absent while etcd does not answer.
type storageSize struct{ client *etcd.Client }

// storageTimeout is the time in which a member of etcd must answer, as in Kubernetes.
const storageTimeout = time.Second

func (s storageSize) desc() *prometheus.Desc {
	return prometheus.NewDesc("apiserver_storage_size_bytes", "Size of the database file of etcd.", []string{"storage_cluster_id"}, nil)
}

// Describe implements prometheus.Collector.
func (s storageSize) Describe(out chan<- *prometheus.Desc) { out <- s.desc() }

// Collect implements prometheus.Collector.
func (s storageSize) Collect(out chan<- prometheus.Metric) {
	for _, endpoint := range s.client.Endpoints() {
		ctx, cancel := context.WithTimeout(context.Background(), storageTimeout)
		status, err := s.client.Status(ctx, endpoint)
		cancel()
		if err == nil {
			out <- prometheus.MustNewConstMetric(s.desc(), prometheus.GaugeValue, float64(status.DbSize), "etcd-0")
			return
		}
	}
}

// Serve serves these metrics together with those of the libraries. A DELETE request, which a server with
// profiling allows, still resets the metrics of the libraries.
func (m Metrics) Serve(server *genericapiserver.GenericAPIServer, profiling bool) {
	libraries := legacyregistry.Handler()
	if profiling {
		libraries = legacyregistry.HandlerWithReset()
	}
	all := promhttp.HandlerFor(prometheus.Gatherers{legacyregistry.DefaultGatherer, m},
		promhttp.HandlerOpts{ProcessStartTime: legacyregistry.GetProcessStart()})
	paths := server.Handler.NonGoRestfulMux
	paths.Unregister(metricsPath)
	paths.Handle(metricsPath, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodDelete {
			libraries.ServeHTTP(w, req)
			return
		}
		all.ServeHTTP(w, req)
	}))
}
