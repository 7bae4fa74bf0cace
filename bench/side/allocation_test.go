package side

import (
	"strings"
	"testing"
)

// The two metrics are found among others whose names contain theirs, and a text without one of them is an error.
func TestReadAllocation(t *testing.T) {
	const size = "# TYPE go_memstats_alloc_bytes_total counter\nold_go_memstats_alloc_bytes_total 1\ngo_memstats_alloc_bytes 2\n" +
		"go_memstats_alloc_bytes_total 1.23456789e+08\n"
	for name, test := range map[string]struct {
		metrics, err string
		want         Allocation
	}{
		"both":           {metrics: size + "go_memstats_mallocs_total 4.5e+06\n", want: Allocation{Bytes: 123_456_789, Objects: 4_500_000}},
		"without one":    {metrics: size, err: "no metric go_memstats_mallocs_total"},
		"without number": {metrics: size + "go_memstats_mallocs_total many\n", err: `go_memstats_mallocs_total: strconv.ParseFloat: parsing "many"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readAllocation([]byte(test.metrics))
			switch {
			case test.err == "" && (err != nil || got != test.want):
				t.Errorf("%+v, %v; want %+v", got, err, test.want)
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
				t.Errorf("error %v, want %s", err, test.err)
			}
		})
	}
}

// A metric is found by its whole name.
func TestReadMetric(t *testing.T) {
	metrics := []byte("# HELP go_gc_heap_live_bytes\nold_go_gc_heap_live_bytes 1\ngo_gc_heap_live_bytes_total 2\ngo_gc_heap_live_bytes 1.5e+06\n")
	if got, err := readMetric(metrics, "go_gc_heap_live_bytes"); err != nil || got != 1_500_000 {
		t.Errorf("%v, %v; want 1500000", got, err)
	}
}
