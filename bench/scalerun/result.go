package scalerun

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Result are the measurements of one or two sides.
type Result struct {
	// CPUs and Memory are those of the machine, the memory in MB.
	CPUs   int     `json:"cpus"`
	Memory float64 `json:"memory"`
	// Command is the command that measured.
	Command  string   `json:"command"`
	Settings Settings `json:"settings"`
	Sides    []*Side  `json:"sides"`
}

// Side is the measurement of one server.
type Side struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Pods is the number of pods that ran. It is lower than that of the settings if the machine had no more memory, which Note says.
	Pods   int      `json:"pods"`
	Note   string   `json:"note,omitempty"`
	Phases []*Phase `json:"phases"`
}

// Phase is what a server and its clients did in one phase.
type Phase struct {
	Name string `json:"name"`
	Note string `json:"note,omitempty"`
	// Seconds is how long the phase took. CPU and Client are the seconds of CPU time of the server and of the clients, and Others is the part
	// of the CPU time of the machine that other processes used.
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu"`
	Client  float64 `json:"client"`
	Others  float64 `json:"others"`
	// Memory is the resident memory at the end, Peak the highest, and Heap the live heap at the end, in MB. Allocated are the MB that the
	// server allocated on its heap. It is 0 if the server started in the phase.
	Memory    float64 `json:"memory"`
	Peak      float64 `json:"peak"`
	Heap      float64 `json:"heap"`
	Allocated float64 `json:"allocated,omitempty"`
	// Watches is the number of open watches at the end, Events the number of events that arrived, and Lag how late they were.
	Watches  int        `json:"watches"`
	Events   int        `json:"events"`
	Lag      Latency    `json:"lag"`
	Requests []Requests `json:"requests"`
}

// Requests are the requests of one kind.
type Requests struct {
	Verb     string `json:"verb"`
	Resource string `json:"resource"`
	// Errors is the number of those that failed, and Failure an example. Latency is that of the others.
	Errors  int    `json:"errors,omitempty"`
	Failure string `json:"failure,omitempty"`
	// Objects is the number of objects in lists.
	Objects int `json:"objects,omitempty"`
	Latency
}

// Latency are durations in milliseconds.
type Latency struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// The service levels of Kubernetes: 99 of 100 requests take at most this time, in milliseconds.
const (
	objectLevel = 1_000
	listLevel   = 30_000
)

// Level returns the service level of the requests.
func (r Requests) Level() float64 {
	if r.Verb == "list" || r.Verb == "list and watch" {
		return listLevel
	}
	return objectLevel
}

// Met reports whether the requests reached their service level.
func (r Requests) Met() bool { return r.P99 <= r.Level() }

// Phase returns a phase, or nil if the side has not reached it.
func (s *Side) Phase(name string) *Phase {
	for _, p := range s.Phases {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Total returns the number of requests of a verb and resource that succeeded.
func (p *Phase) Total(verb, resource string) int {
	for _, r := range p.Requests {
		if r.Verb == verb && r.Resource == resource {
			return r.Count
		}
	}
	return 0
}

// Read reads a result from a file. Without the file, it returns nil.
func Read(file string) (*Result, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &Result{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// Write writes the result to a file.
func (r *Result) Write(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
