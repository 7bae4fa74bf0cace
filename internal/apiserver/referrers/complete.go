package referrers

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/references"
)

// checkInterval is how often the index checks whether the watch caches of built-in kinds can be read.
const checkInterval = 5 * time.Second

// Config is what the index reads from. All fields are required.
type Config struct {
	// Objects reads stored objects.
	Objects storage.Readable
	// Stores are those of the built-in kinds and of the definitions.
	Stores map[schema.GroupResource]*genericregistry.Store
	// Rights decide which referring objects the user of a request may get.
	Rights authorizer.UnconditionalAuthorizer
}

// Start sets what the index reads from, before the server serves.
func (x *Index) Start(config Config) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.config = config
	for resource, k := range x.kinds {
		if config.Stores[resource] == nil && !k.custom {
			delete(x.kinds, resource) // the server does not have this kind
		}
	}
}

// state is what the index knows of the objects of a kind.
type state struct {
	// listed says that all objects are known, and failed that they cannot be read at the moment.
	listed, failed bool
	// unserved says that the definition of the kind is not served.
	unserved bool
}

// setState sets the state of a kind. The caller holds the lock.
func (k *kind) setState(x *Index, now state) {
	if k.state != now {
		k.state = now
		x.notify(event{})
	}
}

// checkStores takes note of the watch caches that cannot be read. The exact read before a deletion does not need them.
func (x *Index) checkStores() {
	unlock := x.lock()
	defer unlock()
	for resource, k := range x.kinds {
		if store := x.config.Stores[resource]; store != nil && !k.custom {
			k.setState(x, state{listed: k.listed, failed: k.listed && store.ReadinessCheck() != nil})
		}
	}
}

// The reasons for which the index may be incomplete, as values of the label of the metric.
const (
	unread   = "not_read"
	failed   = "cannot_be_read"
	unserved = "not_served"
)

// gap is a kind of which not all objects are known.
type gap struct {
	resource, reason string
	// kind is nil if no object is known.
	kind *kind
}

// gaps returns the kinds of which not all objects are known. The caller holds the lock.
func (x *Index) gaps() []gap {
	var all []gap
	if !x.definitionsRead {
		all = append(all, gap{resource: definitionsResource.String(), reason: unread})
	}
	for _, one := range []references.Kind{references.ConfigMap, references.Secret} {
		if x.targetsRead&one == 0 {
			all = append(all, gap{resource: strings.ToLower(one.String()) + "s", reason: unread})
		}
	}
	for resource, d := range x.definitions {
		if k := x.kinds[resource]; k == nil || k.declaration != d {
			all = append(all, gap{resource: resource.String(), reason: unread})
		}
	}
	for resource, k := range x.kinds {
		switch {
		case k.failed:
			all = append(all, gap{resource.String(), failed, k})
		case !k.listed:
			all = append(all, gap{resource.String(), unread, k})
		case k.unserved:
			all = append(all, gap{resource.String(), unserved, k})
		}
	}
	slices.SortFunc(all, func(a, b gap) int { return strings.Compare(a.resource+a.reason, b.resource+b.reason) })
	return all
}

// Incomplete returns why the references in a namespace are not all known, empty if they are. An empty namespace stands for all.
func (x *Index) Incomplete(namespace string) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, g := range x.gaps() {
		switch g.reason {
		case unread:
			return "not all objects of " + g.resource + " have been read yet"
		case failed:
			return "the objects of " + g.resource + " cannot be read"
		}
		if len(g.kind.objects[namespace])+len(g.kind.objects[""]) > 0 || namespace == "" && len(g.kind.objects) > 0 {
			return "the definition of " + g.resource + " is not served, and there are objects of it"
		}
	}
	return ""
}

var (
	referencesDesc = prometheus.NewDesc("holdfast_references",
		"References to ConfigMaps and Secrets that the index of this server has.", nil, nil)
	incompleteDesc = prometheus.NewDesc("holdfast_references_incomplete",
		"1 if the index of references to ConfigMaps and Secrets is incomplete for this reason, so that no object is collected in the namespaces "+
			"that are concerned: not_read, cannot_be_read, or not_served for a definition that has objects and is not served.",
		[]string{"reason"}, nil)
)

// Describe implements prometheus.Collector.
func (x *Index) Describe(out chan<- *prometheus.Desc) {
	out <- referencesDesc
	out <- incompleteDesc
}

// Collect implements prometheus.Collector.
func (x *Index) Collect(out chan<- prometheus.Metric) {
	x.mu.Lock()
	total, reasons := x.total, map[string]float64{}
	for _, g := range x.gaps() {
		if g.reason != unserved || len(g.kind.objects) > 0 {
			reasons[g.reason] = 1
		}
	}
	x.mu.Unlock()
	out <- prometheus.MustNewConstMetric(referencesDesc, prometheus.GaugeValue, float64(total))
	for _, reason := range []string{unread, failed, unserved} {
		out <- prometheus.MustNewConstMetric(incompleteDesc, prometheus.GaugeValue, reasons[reason], reason)
	}
}
