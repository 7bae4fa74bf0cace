package cacheaudit

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"
)

// Config configures an Auditor.
type Config struct {
	// Interval is the time between two audits. Zero means that there are none.
	Interval time.Duration
	// Caches returns the caches that exist now, in the order in which they are compared. A cache that is filled from another one comes
	// after it.
	Caches func() []Cache
}

// Auditor compares the caches of a server again and again.
type Auditor struct {
	config  Config
	metrics metrics
}

// New returns an auditor. It does nothing before Run.
func New(config Config) *Auditor { return &Auditor{config, newMetrics()} }

// Collectors returns the metrics of the auditor, none if there are no audits.
func (a *Auditor) Collectors() []prometheus.Collector {
	if a.config.Interval == 0 {
		return nil
	}
	return a.metrics.collectors()
}

// Run audits the caches until ctx ends. The times vary, so that servers of one etcd do not read it at the same time.
func (a *Auditor) Run(ctx context.Context) {
	if a.config.Interval == 0 {
		return
	}
	for _, cache := range a.config.Caches() {
		// An alert sees an increase only if the metric was there before.
		a.metrics.count(cache.Name(), &Pass{}, nil)
	}
	for {
		timer := time.NewTimer(a.config.Interval*9/10 + rand.N(a.config.Interval/5+1))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
			a.Audit(ctx)
		}
	}
}

// Audit compares all caches once.
func (a *Auditor) Audit(ctx context.Context) {
	began, complete := time.Now(), true
	for _, cache := range a.config.Caches() {
		pass := &Pass{began: time.Now()}
		err := cache.Compare(ctx, pass)
		if ctx.Err() != nil {
			return
		}
		if pass.different > 0 {
			cache.Drop()
			klog.ErrorS(nil, "a cache differs from what it is computed from, and was dropped", "component", "cacheaudit",
				"cache", cache.Name(), "key", pass.first, "differences", pass.different)
		}
		if err != nil {
			complete = false
			klog.V(2).InfoS("a cache could not be audited", "component", "cacheaudit", "cache", cache.Name(), "error", err.Error())
		}
		a.metrics.count(cache.Name(), pass, err)
	}
	a.metrics.finish(time.Since(began), complete)
}
