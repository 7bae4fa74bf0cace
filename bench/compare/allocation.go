package compare

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"holdfast.dev/holdfast/bench/side"
)

// meter reads what a server allocates.
type meter struct {
	server *side.Server
	client *side.Client
	// idle is what the server allocates in a second at rest.
	idle side.Allocation
}

// newMeter returns a meter of a server that is not at rest. The caller closes its client.
func newMeter(server *side.Server) (*meter, error) {
	client, err := server.Client(side.Administrator())
	return &meter{server: server, client: client}, err
}

// meters returns a meter for each server. The caller closes their clients.
func (r *runner) meters(ctx context.Context, servers []*side.Server) (map[*side.Server]*meter, error) {
	meters := map[*side.Server]*meter{}
	for i, server := range servers {
		m, err := newMeter(server)
		if err != nil {
			return meters, fmt.Errorf("%s: %w", r.figures.Sides[i].Name, err)
		}
		meters[server] = m
		if m.idle, err = m.atRest(ctx, r.settings); err != nil {
			return meters, fmt.Errorf("%s: %w", r.figures.Sides[i].Name, err)
		}
	}
	return meters, nil
}

// atRest returns what the server allocates in a second at rest. Settings that leave the server no time to come to rest leave this out.
func (m *meter) atRest(ctx context.Context, s Settings) (side.Allocation, error) {
	if s.Settle == 0 {
		return side.Allocation{}, nil
	}
	used, allocated, err := m.measure(ctx, func() error { return pause(ctx, s.Settle) })
	return allocated.Times(1 / used.elapsed.Seconds()), err
}

// measure returns what the server uses and allocates while work runs, without what it allocates to write its metrics.
func (m *meter) measure(ctx context.Context, work func() error) (usage, side.Allocation, error) {
	var read [3]side.Allocation
	var err error
	for i := range 2 {
		if read[i], err = m.server.Allocated(ctx, m.client); err != nil {
			return usage{}, side.Allocation{}, err
		}
	}
	used, err := measure(m.server, work)
	if err != nil {
		return usage{}, side.Allocation{}, err
	}
	if read[2], err = m.server.Allocated(ctx, m.client); err != nil {
		return usage{}, side.Allocation{}, err
	}
	// Between the first two readings, the server did nothing but write its metrics.
	metrics := read[1].Minus(read[0])
	return used, read[2].Minus(read[1]).Minus(metrics), nil
}

// measureRequests returns a sample of n requests that clients send at the same time.
func (m *meter) measureRequests(ctx context.Context, n, clients int, send func() error) (Sample, error) {
	used, allocated, err := m.measure(ctx, send)
	if err != nil {
		return Sample{}, err
	}
	each := allocated.Minus(m.idle.Times(used.elapsed.Seconds())).Times(1 / float64(n))
	s := used.perRequest(n, clients)
	s.Allocated = &side.Allocation{Bytes: math.Round(each.Bytes), Objects: math.Round(each.Objects)}
	return s, nil
}

// allocation returns the section about allocated memory. It is empty if no run has measured it.
func (f *Figures) allocation() string {
	var rows strings.Builder
	for _, l := range f.Lines {
		if l.isAllocated() {
			rows.WriteString(l.allocation() + "\n")
		}
	}
	if rows.Len() == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(`
## Allocated memory

This is the memory that a server allocates on its heap for one request, and the number of objects in it, by the metrics
` + "`go_memstats_alloc_bytes_total` and `go_memstats_mallocs_total`" + ` before and after the requests of a sample. It includes etcd, and memory that the server
releases at once. The cost of the metrics themselves, and what the server allocates at rest, are subtracted. Other work on the machine
changes these figures less than CPU time. Go counts small objects in groups, so a row with few or cheap requests is coarse.

| |`)
	for _, one := range f.Sides {
		fmt.Fprintf(&b, " %s | objects |", one.Name)
	}
	fmt.Fprintf(&b, " ratio | ratio of objects |\n|---|%s---|---|\n", strings.Repeat("---|---|", len(f.Sides)))
	return b.String() + rows.String()
}

// isAllocated reports whether all samples of the line have the allocated memory.
func (l *Line) isAllocated() bool {
	return !slices.ContainsFunc(l.Samples, func(samples []Sample) bool {
		return slices.ContainsFunc(samples, func(s Sample) bool { return s.Allocated == nil })
	})
}

// allocation returns the line as a row of the table about allocated memory.
func (l *Line) allocation() string {
	cells := []string{l.title()}
	var size, objects []float64
	for _, samples := range l.Samples {
		kilobytes := sorted(samples, func(s Sample) float64 { return s.Allocated.Bytes / 1000 })
		count := median(sorted(samples, func(s Sample) float64 { return s.Allocated.Objects }))
		cells = append(cells, fmt.Sprintf("%s KB (%s to %s)", number(median(kilobytes)), number(kilobytes[0]), number(kilobytes[len(kilobytes)-1])),
			fmt.Sprintf("%.0f", count))
		size, objects = append(size, median(kilobytes)), append(objects, count)
	}
	for _, medians := range [][]float64{size, objects} {
		ratio := ""
		if value, ok := ratioOf(medians); ok {
			ratio = fmt.Sprintf("%.2f", value)
		}
		cells = append(cells, ratio)
	}
	return "| " + strings.Join(cells, " | ") + " |"
}
