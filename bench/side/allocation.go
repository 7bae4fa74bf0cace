package side

import (
	"bytes"
	"context"
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
	clients := []*Client{administrator}
	if s.etcdURL != "" {
		clients = append(clients, &Client{URL: s.etcdURL, HTTP: http.DefaultClient})
	}
	var sum Allocation
	for _, client := range clients {
		metrics, err := client.Do(ctx, Request{Method: http.MethodGet, Path: "/metrics"})
		if err != nil {
			return Allocation{}, err
		}
		one, err := readAllocation(metrics)
		if err != nil {
			return Allocation{}, fmt.Errorf("%s/metrics: %w", client.URL, err)
		}
		sum.Bytes += one.Bytes
		sum.Objects += one.Objects
	}
	return sum, nil
}

// readAllocation finds the allocation of a Go program in its metrics.
func readAllocation(metrics []byte) (a Allocation, err error) {
	for name, into := range map[string]*float64{"go_memstats_alloc_bytes_total": &a.Bytes, "go_memstats_mallocs_total": &a.Objects} {
		_, rest, found := bytes.Cut(metrics, []byte("\n"+name+" "))
		if !found {
			return a, fmt.Errorf("no metric %s", name)
		}
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		if *into, err = strconv.ParseFloat(strings.TrimSpace(string(line)), 64); err != nil {
			return a, fmt.Errorf("%s: %w", name, err)
		}
	}
	return a, nil
}
