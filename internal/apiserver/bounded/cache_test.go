package bounded_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"holdfast.dev/holdfast/internal/apiserver/bounded"
)

const limit, largest = 100, 30

// sizes is a cache of numbers, with a record of the values in it.
type sizes struct {
	*bounded.Cache[string, int]
	held map[string]int
}

func newSizes(t *testing.T) *sizes {
	t.Helper()
	s := &sizes{held: map[string]int{}}
	s.Cache = bounded.New(bounded.Config[string, int]{Name: "sizes", Limit: limit, Largest: largest, Removed: func(key string, value int) {
		if held, ok := s.held[key]; !ok || held != value {
			t.Errorf("%d of %s was removed, the cache held %d: %t", value, key, held, ok)
		}
		delete(s.held, key)
	}})
	return s
}

// add adds a value that is its own size.
func (s *sizes) add(key string, size int) {
	s.Add(key, size, size)
	if size <= largest {
		s.held[key] = size
	}
}

func (s *sizes) bytes() int {
	sum := 0
	for _, size := range s.held {
		sum += size
	}
	return sum
}

func always(int) bool { return true }

// The cache stays within its bound, has all values that Removed was not called for, and counts their sizes.
func TestBound(t *testing.T) {
	t.Parallel()
	cache, r := newSizes(t), rand.New(rand.NewPCG(1, 1))
	full := 0
	for range 2000 {
		cache.add(fmt.Sprint(r.IntN(30)), r.IntN(largest+5))
		sum := cache.bytes()
		if counted := figures(t, cache)["holdfast_cache_bytes"]; sum > limit || counted != float64(sum) {
			t.Fatalf("%d bytes in %v, counted %v, at most %d are allowed", sum, cache.held, counted, limit)
		}
		if sum > limit-largest {
			full++
		}
		for key, size := range cache.held {
			if got, ok := cache.Get(key, always); !ok || got != size {
				t.Fatalf("%s is %d, %t, want %d", key, got, ok, size)
			}
		}
	}
	if full < 1000 {
		t.Errorf("the cache was full %d times", full)
	}
}

func TestAddAndRemove(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		do   func(*sizes)
		want map[string]int
	}{
		"empty":               {func(*sizes) {}, map[string]int{}},
		"two":                 {func(s *sizes) { s.add("a", 1); s.add("b", 2) }, map[string]int{"a": 1, "b": 2}},
		"replaced":            {func(s *sizes) { s.add("a", 1); s.add("a", 2) }, map[string]int{"a": 2}},
		"the largest":         {func(s *sizes) { s.add("a", largest) }, map[string]int{"a": largest}},
		"too large":           {func(s *sizes) { s.add("a", largest+1) }, map[string]int{}},
		"too large, replaces": {func(s *sizes) { s.add("a", 1); s.add("a", largest+1) }, map[string]int{}},
		"removed": {
			func(s *sizes) {
				s.add("a1", 1)
				s.add("a2", 2)
				s.add("b", 3)
				s.Remove(func(key string) bool { return strings.HasPrefix(key, "a") })
			}, map[string]int{"b": 3},
		},
		"added again": {
			func(s *sizes) { s.add("a", 1); s.Remove(func(string) bool { return true }); s.add("a", 4) }, map[string]int{"a": 4},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache := newSizes(t)
			test.do(cache)
			got := map[string]int{}
			for _, key := range []string{"a", "a1", "a2", "b"} {
				if value, ok := cache.Get(key, always); ok {
					got[key] = value
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(test.want, cache.held); diff != "" {
				t.Errorf("without those that were removed (-want +got):\n%s", diff)
			}
		})
	}
}

// Get returns only a value for which the function of the caller holds, and counts hits and misses.
func TestMetrics(t *testing.T) {
	t.Parallel()
	cache := bounded.New(bounded.Config[string, int]{Name: "numbers", Limit: limit, Largest: largest})
	cache.Add("a", 7, 3)
	for _, look := range []struct {
		key  string
		want int
	}{{"a", 7}, {"a", 7}, {"a", 8}, {"b", 0}} {
		got, ok := cache.Get(look.key, func(value int) bool { return value == look.want })
		if found := look.key == "a" && look.want == 7; ok != found || found && got != 7 || !found && got != 0 {
			t.Errorf("%s with the value %d: %d, %t", look.key, look.want, got, ok)
		}
	}
	want := map[string]float64{"holdfast_cache_bytes": 3, "holdfast_cache_hits_total": 2, "holdfast_cache_misses_total": 2}
	if diff := cmp.Diff(want, figures(t, cache)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The race detector checks that goroutines can share a cache.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	cache := bounded.New(bounded.Config[int, int]{Name: "shared", Limit: limit, Largest: largest, Removed: func(int, int) {}})
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for i := range 500 {
				cache.Add(i%20, n, i%largest)
				cache.Get(i%10, always)
				cache.Remove(func(key int) bool { return key == n })
			}
		})
	}
	all.Wait()
	if got := figures(t, cache); got["holdfast_cache_bytes"] > limit || got["holdfast_cache_hits_total"]+got["holdfast_cache_misses_total"] != 4*500 {
		t.Errorf("%v", got)
	}
}

// figures returns the metrics of a cache by their names.
func figures(t *testing.T, cache bounded.Measured) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(bounded.Collector(cache))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if label := metric.GetLabel(); len(label) != 1 || label[0].GetName() != "cache" {
				t.Errorf("%s has the labels %v", family.GetName(), label)
			}
			out[family.GetName()] += metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
	}
	return out
}

// A loop over the entries may add and remove entries. It sees none that left the cache meanwhile, and counts no hits.
func TestEntries(t *testing.T) {
	t.Parallel()
	cache := bounded.New(bounded.Config[string, int]{Name: "numbers", Limit: limit, Largest: largest})
	for i, key := range []string{"a", "b", "c"} {
		cache.Add(key, i, 1)
	}
	seen := map[string]int{}
	for key, value := range cache.Entries() {
		seen[key] = value
		cache.Remove(func(other string) bool { return other != key })
		cache.Add("new", 7, 1)
	}
	if len(seen) != 1 {
		t.Errorf("the loop has seen %v, want one entry", seen)
	}
	cache.Clear()
	for key := range cache.Entries() {
		t.Errorf("%s is left", key)
	}
	want := map[string]float64{"holdfast_cache_bytes": 0, "holdfast_cache_hits_total": 0, "holdfast_cache_misses_total": 0}
	if diff := cmp.Diff(want, figures(t, cache)); diff != "" || cache.Name() != "numbers" {
		t.Errorf("%s, -want +got:\n%s", cache.Name(), diff)
	}
}
