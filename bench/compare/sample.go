package compare

import (
	"math"
	"os"
	"runtime"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// Sample is one measurement.
type Sample struct {
	// Value is the result, in the unit of the row.
	Value float64 `json:"value"`
	// Wait is the time that a client waited for one request, in milliseconds. It is 0 if the row has no such time.
	Wait float64 `json:"wait,omitempty"`
	// Peak is the highest memory of the server during the sample, in MB.
	Peak float64 `json:"peak"`
	// Others is the part of the CPU time of the machine that other processes used, and Again how often the sample was taken again
	// for it.
	Others float64 `json:"others"`
	Again  int     `json:"again,omitempty"`
	// Note says what a reader of the value must know, such as that it is a lower bound.
	Note string `json:"note,omitempty"`
	// Allocated is what the server allocated for one request. It is nil if the row has no requests.
	Allocated *side.Allocation `json:"allocated,omitempty"`
}

// others returns the highest part of other processes in samples that belong together.
func others(samples []Sample) float64 {
	highest := 0.0
	for _, s := range samples {
		highest = max(highest, s.Others)
	}
	return highest
}

// usage is what a server used during some work.
type usage struct {
	cpu, elapsed time.Duration
	peak         int64
	others       float64
}

// sample returns a value with what else is known about the work.
func (u usage) sample(value float64) Sample {
	return Sample{Value: round(value), Peak: round(megabytes(u.peak)), Others: round(u.others)}
}

// perRequest returns the CPU time of one of n requests that clients sent at the same time.
func (u usage) perRequest(n, clients int) Sample {
	s := u.sample(milliseconds(u.cpu) / float64(n))
	// No more clients wait than there are requests.
	s.Wait = round(milliseconds(u.elapsed) * float64(min(clients, n)) / float64(n))
	return s
}

// round returns a value with three decimals.
func round(value float64) float64 { return math.Round(value*1000) / 1000 }

// measure returns what a server uses while work runs.
func measure(server *side.Server, work func() error) (usage, error) {
	if err := server.ResetPeak(); err != nil {
		return usage{}, err
	}
	before, err := readClocks(server)
	if err != nil {
		return usage{}, err
	}
	if err := work(); err != nil {
		return usage{}, err
	}
	after, err := readClocks(server)
	if err != nil {
		return usage{}, err
	}
	peak, err := server.PeakMemory()
	return after.since(before, peak), err
}

// measureStart returns a server and what it used until it was ready.
func measureStart(start func() (*side.Server, error)) (*side.Server, usage, error) {
	before, err := readClocks(nil)
	if err != nil {
		return nil, usage{}, err
	}
	server, err := start()
	if err != nil {
		return nil, usage{}, err
	}
	after, err := readClocks(server)
	if err != nil {
		return server, usage{}, err
	}
	peak, err := server.PeakMemory()
	return server, after.since(before, peak), err
}

// clocks are the CPU times of the machine, of this program and of a server, at one moment.
type clocks struct {
	at                    time.Time
	machine, self, server time.Duration
}

// readClocks reads the clocks. A server that has not started has used nothing.
func readClocks(server *side.Server) (c clocks, err error) {
	c.at = time.Now()
	if c.machine, err = side.MachineCPU(); err != nil {
		return c, err
	}
	if c.self, err = side.ProcessCPU(os.Getpid()); err != nil {
		return c, err
	}
	if server != nil {
		c.server, err = server.CPU()
	}
	return c, err
}

func (c clocks) since(before clocks, peak int64) usage {
	elapsed := c.at.Sub(before.at)
	others := (c.machine - before.machine) - (c.self - before.self) - (c.server - before.server)
	return usage{
		cpu: c.server - before.server, elapsed: elapsed, peak: peak,
		others: max(0, float64(others)/float64(elapsed)/float64(runtime.NumCPU())),
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func megabytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }
