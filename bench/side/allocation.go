package side

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Allocation is memory that programs have allocated on their heaps, with what they have released again.
type Allocation struct {
	Bytes   float64 `json:"bytes"`
	Objects float64 `json:"objects"`
}

// Minus returns the difference of two allocations.
func (a Allocation) Minus(b Allocation) Allocation {
	return Allocation{Bytes: a.Bytes - b.Bytes, Objects: a.Objects - b.Objects}
}

// Times returns a multiple of an allocation.
func (a Allocation) Times(factor float64) Allocation {
	return Allocation{Bytes: a.Bytes * factor, Objects: a.Objects * factor}
}

// Allocated returns what the processes of the server have allocated since their start, by their metrics. To write the metrics is work of
// the server too, which allocates.
func (s *Server) Allocated(ctx context.Context, administrator *Client) (Allocation, error) {
	var sum Allocation
	err := s.eachMetrics(ctx, administrator, func(metrics []byte) error {
		one, err := readAllocation(metrics)
		sum.Bytes += one.Bytes
		sum.Objects += one.Objects
		return err
	})
	return sum, err
}

// LiveHeap returns the bytes of the heaps that are in use. It lets the processes collect their garbage, which kube-apiserver and etcd
// do for every administrator, and Holdfast with the flag --profiling. Without the flag, the figure is that of the last collection.
func (s *Server) LiveHeap(ctx context.Context, administrator *Client) (float64, error) {
	for _, client := range s.programs(administrator) {
		_, err := client.Drain(ctx, Request{Method: http.MethodGet, Path: "/debug/pprof/heap?gc=1"})
		var refused *StatusError
		if err != nil && !errors.As(err, &refused) {
			return 0, err
		}
	}
	var sum float64
	err := s.eachMetrics(ctx, administrator, func(metrics []byte) error {
		one, err := readMetric(metrics, "go_gc_heap_live_bytes")
		if err != nil {
			// etcd does not publish it. Right after a collection, its heap has little garbage.
			one, err = readMetric(metrics, "go_memstats_heap_alloc_bytes")
		}
		sum += one
		return err
	})
	return sum, err
}

// programs returns a client for each process.
func (s *Server) programs(administrator *Client) []*Client {
	clients := []*Client{administrator}
	if s.etcdURL != "" {
		clients = append(clients, &Client{URL: s.etcdURL, HTTP: http.DefaultClient})
	}
	return clients
}

// eachMetrics calls read with the metrics of each process of the server.
func (s *Server) eachMetrics(ctx context.Context, administrator *Client, read func(metrics []byte) error) error {
	for _, client := range s.programs(administrator) {
		metrics, err := client.Do(ctx, Request{Method: http.MethodGet, Path: "/metrics"})
		if err != nil {
			return err
		}
		if err := read(metrics); err != nil {
			return fmt.Errorf("%s/metrics: %w", client.URL, err)
		}
	}
	return nil
}

// readAllocation finds the allocation of a Go program in its metrics.
func readAllocation(metrics []byte) (a Allocation, err error) {
	if a.Bytes, err = readMetric(metrics, "go_memstats_alloc_bytes_total"); err != nil {
		return a, err
	}
	a.Objects, err = readMetric(metrics, "go_memstats_mallocs_total")
	return a, err
}

// readMetric returns the value of a metric without labels.
func readMetric(metrics []byte, name string) (float64, error) {
	_, rest, found := bytes.Cut(metrics, []byte("\n"+name+" "))
	if !found {
		return 0, fmt.Errorf("no metric %s", name)
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	value, err := strconv.ParseFloat(strings.TrimSpace(string(line)), 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return value, nil
}
