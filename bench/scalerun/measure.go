package scalerun

import (
	"context"
	"math"
	"os"
	"runtime"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// readings are clocks and counters at one moment.
type readings struct {
	at                      time.Time
	server, client, machine time.Duration
	allocated               side.Allocation
}

func (f *fleet) readings(ctx context.Context) (r readings, err error) {
	if r.allocated, err = f.server.Allocated(ctx, f.admin); err != nil {
		return r, err
	}
	r.at = time.Now()
	if r.server, err = f.server.CPU(); err != nil {
		return r, err
	}
	if r.client, err = side.ProcessCPU(os.Getpid()); err != nil {
		return r, err
	}
	r.machine, err = side.MachineCPU()
	return r, err
}

// measure runs a phase and returns what the server and the clients did in it. A phase that fails is measured until then.
func (f *fleet) measure(ctx context.Context, name string, run func(ctx context.Context, p *Phase) error) (*Phase, error) {
	p := &Phase{Name: name}
	if err := f.server.ResetPeak(); err != nil {
		return nil, err
	}
	before, err := f.readings(ctx)
	if err != nil {
		return nil, err
	}
	f.record.begin()
	limited, cancel := context.WithTimeout(ctx, f.settings.Limit)
	failed := run(limited, p)
	cancel()
	f.record.end(p)
	if failed != nil {
		return p, failed
	}
	after, err := f.readings(ctx)
	if err != nil {
		return p, err
	}
	elapsed := after.at.Sub(before.at)
	p.Seconds = seconds(elapsed)
	p.CPU, p.Client = seconds(after.server-before.server), seconds(after.client-before.client)
	others := (after.machine - before.machine) - (after.server - before.server) - (after.client - before.client)
	p.Others = round(max(0, float64(others)/float64(elapsed)/float64(runtime.NumCPU())))
	// A server that started again has allocated less than before.
	p.Allocated = math.Round(max(0, after.allocated.Minus(before.allocated).Bytes/(1<<20)))
	p.Watches = int(f.watches.Load())
	return p, f.memory(ctx, p)
}

// memory reads the memory of the server, after a time in which it comes to rest.
func (f *fleet) memory(ctx context.Context, p *Phase) error {
	if err := pause(ctx, f.settings.Settle); err != nil {
		return err
	}
	resident, err := f.server.Memory()
	if err != nil {
		return err
	}
	peak, err := f.server.PeakMemory()
	if err != nil {
		return err
	}
	heap, err := f.server.LiveHeap(ctx, f.admin)
	p.Memory, p.Peak, p.Heap = megabytes(float64(resident)), megabytes(float64(peak)), megabytes(heap)
	return err
}

func seconds(d time.Duration) float64 { return round(d.Seconds()) }

func megabytes(bytes float64) float64 { return math.Round(bytes / (1 << 20)) }

// round returns a value with three digits after the point.
func round(value float64) float64 { return math.Round(value*1000) / 1000 }
