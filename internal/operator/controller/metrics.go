package controller

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/api"
)

// The results of runs, as values of the label result.
const (
	resultComplete  = "complete"
	resultFailed    = "failed"
	resultCancelled = "cancelled"
)

// Metrics are the metrics of the plans that controllers run in one process, one after the other. It is a
// prometheus.Collector.
type Metrics struct {
	started  prometheus.Counter
	finished *prometheus.CounterVec
	running  *prometheus.Desc
	// instances is the cache of the controller that runs now. It is nil if none runs.
	instances atomic.Pointer[cache.Store]
}

// NewMetrics returns metrics that are all zero.
func NewMetrics() *Metrics {
	m := &Metrics{
		started: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "holdfast_plans_started_total", Help: "Runs of plans of operator packages that have started.",
		}),
		finished: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_plans_finished_total", Help: "Runs of plans that have ended: complete, failed or cancelled.",
		}, []string{"result"}),
		running: prometheus.NewDesc("holdfast_plans_running",
			"Plans that run now, by the state of the run; 0 on a server that does not run the controllers.", []string{"state"}, nil),
	}
	for _, result := range []string{resultComplete, resultFailed, resultCancelled} {
		m.finished.WithLabelValues(result)
	}
	return m
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	m.started.Describe(to)
	m.finished.Describe(to)
	to <- m.running
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.started.Collect(to)
	m.finished.Collect(to)
	running := map[api.State]int{api.Pending: 0, api.InProgress: 0, api.Error: 0}
	if store := m.instances.Load(); store != nil {
		for _, obj := range (*store).List() {
			if state := runningState(obj); state.Running() {
				running[state]++
			}
		}
	}
	for state, count := range running {
		to <- prometheus.MustNewConstMetric(m.running, prometheus.GaugeValue, float64(count), string(state))
	}
}

// follow counts the running plans of the Instances in a cache, until the returned function is called.
func (m *Metrics) follow(store cache.Store) (stop func()) {
	m.instances.Store(&store)
	return func() { m.instances.Store(nil) }
}

// stored counts what a stored status says: that a run has started, and that it has ended.
func (m *Metrics) stored(before, after api.PlanStatus, result string) {
	started := after.UID != "" && after.UID != before.UID
	if started {
		m.started.Inc()
	}
	if after.Status.Ended() && (started || !before.Status.Ended()) {
		m.finished.WithLabelValues(result).Inc()
	}
}

// result returns how the run has ended, for a run that has ended.
func (e *execution) result() string {
	switch {
	case e.cancelled:
		return resultCancelled
	case e.status.Status == api.Complete:
		return resultComplete
	}
	return resultFailed
}

// runningState returns the state of the plan that an Instance runs, "" if it runs none. It reads the three
// fields that it needs: an Instance may be large, and there may be many.
func runningState(obj any) api.State {
	instance, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return ""
	}
	// An error means that a field is absent or has another type, and then it is empty.
	name, _, _ := unstructured.NestedString(instance.Object, "spec", "planExecution", "planName")
	if name == "" {
		return ""
	}
	run, _, _ := unstructured.NestedString(instance.Object, "spec", "planExecution", "uid")
	known, _, _ := unstructured.NestedString(instance.Object, "status", "planStatus", name, "uid")
	state, _, _ := unstructured.NestedString(instance.Object, "status", "planStatus", name, "status")
	if known == run || known == "" && api.State(state).Running() {
		return api.State(state)
	}
	return api.Pending
}
