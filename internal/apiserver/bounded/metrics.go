package bounded

import "github.com/prometheus/client_golang/prometheus"

// Measured is a cache of any type.
type Measured interface {
	// measure returns the name of the cache, the bytes that it holds, and the numbers of its hits and misses.
	measure() (name string, bytes, hits, misses float64)
}

func (c *Cache[K, V]) measure() (name string, bytes, hits, misses float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.config.Name, float64(c.size), float64(c.hits.Load()), float64(c.misses.Load())
}

// Collector returns the metrics of caches.
func Collector(caches ...Measured) prometheus.Collector { return collector(caches) }

type collector []Measured

var (
	bytesMetric = prometheus.NewDesc("holdfast_cache_bytes",
		"Bytes in a cache: the texts that it keeps, or from which it keeps decoded values.", []string{"cache"}, nil)
	hitsMetric = prometheus.NewDesc("holdfast_cache_hits_total",
		"Look-ups in a cache that found a value.", []string{"cache"}, nil)
	missesMetric = prometheus.NewDesc("holdfast_cache_misses_total",
		"Look-ups in a cache that found no value.", []string{"cache"}, nil)
)

// Describe implements prometheus.Collector.
func (c collector) Describe(out chan<- *prometheus.Desc) {
	out <- bytesMetric
	out <- hitsMetric
	out <- missesMetric
}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	for _, cache := range c {
		name, bytes, hits, misses := cache.measure()
		out <- prometheus.MustNewConstMetric(bytesMetric, prometheus.GaugeValue, bytes, name)
		out <- prometheus.MustNewConstMetric(hitsMetric, prometheus.CounterValue, hits, name)
		out <- prometheus.MustNewConstMetric(missesMetric, prometheus.CounterValue, misses, name)
	}
}
