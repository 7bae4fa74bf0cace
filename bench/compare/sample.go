package compare

import (
	"os"
	"runtime"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// sample is one measurement.
type sample struct {
	// value is the result, in the unit of the row.
	value float64
	// wait is the time that a client waited for one request. It is 0 if the row has no such time.
	wait time.Duration
	// peak is the highest memory of the server during the sample, in bytes.
	peak int64
	// others is the part of the CPU time of the machine that other processes used.
	others float64
}

// usage is what a server used during some work.
type usage struct {
	cpu, elapsed time.Duration
	peak         int64
	others       float64
}

// perRequest returns the CPU time of one of n requests that clients sent at the same time.
func (u usage) perRequest(n, clients int) sample {
	return sample{
		value: milliseconds(u.cpu) / float64(n), wait: u.elapsed * time.Duration(clients) / time.Duration(n),
		peak: u.peak, others: u.others,
	}
}

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

// clocks are the CPU times of the machine, of this program and of a server, at one moment.
type clocks struct {
	at                    time.Time
	machine, self, server time.Duration
}

func readClocks(server *side.Server) (c clocks, err error) {
	c.at = time.Now()
	if c.machine, err = side.MachineCPU(); err != nil {
		return c, err
	}
	if c.self, err = side.ProcessCPU(os.Getpid()); err != nil {
		return c, err
	}
	c.server, err = server.CPU()
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
