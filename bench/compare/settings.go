package compare

import (
	"regexp"
	"time"
)

// Settings are the amount of work of a run.
type Settings struct {
	// Stages are the names of the stages of the run.
	Stages []string `json:"-"`
	// Rounds is the number of samples for each row of requests, and Starts that for each row about starts and memory. A row about very
	// many objects or definitions has one sample.
	Rounds int `json:"rounds"`
	Starts int `json:"starts"`
	// Rows chooses the rows of requests by their titles.
	Rows *regexp.Regexp `json:"-"`
	// Others is the fraction of the CPU time of the machine that other processes may use during a sample. If they used more, the
	// sample is disturbed, and Run takes it again, at most Repeats times.
	Others  float64 `json:"others"`
	Repeats int     `json:"repeats"`
	// Settle is how long a server stays idle before its memory is read.
	Settle time.Duration `json:"settle"`
	// Work is the fraction of the full number of requests that a sample sends. With 200 requests or fewer, it sends all of them.
	Work float64 `json:"work"`
	// Fields is the number of fields of the custom resource, and Growth the numbers of fields in the rows about growth.
	Fields int   `json:"fields"`
	Growth []int `json:"growth"`
	// Flags are the flags by which the caller chose these settings, for the report.
	Flags string `json:"-"`
	// Objects are the numbers of stored objects in the rows about them, in ascending order, and Definitions those of definitions.
	Objects     []int `json:"objects"`
	Definitions []int `json:"definitions"`
	// Properties is the number of properties of a definition that is larger than those of most projects.
	Properties int `json:"properties,omitempty"`
	// Changes is how often a definition is changed for a sample.
	Changes int `json:"changes"`
	// Listed is the number of objects in a list, Watches the number of watches, Nodes the number of nodes, and Pods that of their pods.
	Listed  int `json:"listed"`
	Watches int `json:"watches"`
	Nodes   int `json:"nodes"`
	Pods    int `json:"pods"`
	// Stored are the numbers of objects in the rows about the memory of one.
	Stored []int `json:"stored,omitempty"`
	// Informers is the number of clients that list Large objects of 100 KB.
	Informers int `json:"informers,omitempty"`
	Large     int `json:"large,omitempty"`
	// GroupVersions is the number of group versions that kubectl discovers, and Kubectl the program.
	GroupVersions int    `json:"groupVersions,omitempty"`
	Kubectl       string `json:"-"`
}

// Full returns the settings of a full run.
func Full() Settings {
	return Settings{
		Stages: StageNames(),
		Rounds: 5, Starts: 2, Rows: regexp.MustCompile(""), Others: 0.1, Repeats: 2, Settle: 10 * time.Second, Work: 1,
		Fields: 195, Growth: []int{10, 100, 1000}, Objects: []int{1_000, 10_000, 100_000}, Definitions: []int{300}, Changes: 10,
		Listed: 500, Watches: 1000, Nodes: 500, Pods: 2000,
		Stored: []int{2_000, 20_000}, Informers: 16, Large: 10_000, GroupVersions: 370, Kubectl: "../bin/peer/kubectl", Properties: 5000,
	}
}

// Short returns the settings of a run that only shows that all rows work.
func Short() Settings {
	return Settings{
		Stages: StageNames(),
		Rounds: 1, Starts: 1, Rows: regexp.MustCompile(""), Others: 1, Work: 0,
		Fields: 195, Growth: []int{10}, Objects: []int{20, 30}, Definitions: []int{10}, Changes: 2, Listed: 5, Watches: 20, Nodes: 5, Pods: 10,
		Stored: []int{10, 20}, Informers: 2, Large: 10, GroupVersions: 40, Properties: 300,
	}
}

// The numbers from which on a row about objects or definitions has one sample, because one takes minutes.
const (
	veryManyObjects     = 50_000
	veryManyStored      = 10_000
	veryManyDefinitions = 1_000
)

// samplesOf returns the number of samples of a row about a number of objects or definitions.
func (s Settings) samplesOf(number, veryMany int) int {
	if number >= veryMany {
		return min(1, s.Starts)
	}
	return s.Starts
}
