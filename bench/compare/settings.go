package compare

import (
	"regexp"
	"time"
)

// Settings are the amount of work of a run.
type Settings struct {
	// Rounds is the number of samples for each row of requests, and Starts that for each row about starts and memory.
	Rounds, Starts int
	// Rows chooses the rows of requests by their titles.
	Rows *regexp.Regexp
	// Others is the fraction of the CPU time of the machine that other processes may use during a sample. If they used more, the
	// sample is disturbed, and Run takes it again, at most Repeats times.
	Others  float64
	Repeats int
	// Settle is how long a server stays idle before its memory is read.
	Settle time.Duration
	// Work is the fraction of the full number of requests that a sample sends.
	Work float64
	// Fields is the number of fields of the custom resource, and Growth the numbers of fields in the rows about growth.
	Fields int
	Growth []int
	// Flags are the flags by which the caller chose these settings, for the report.
	Flags string
	// Objects are the numbers of stored objects in the rows about them, in ascending order.
	Objects []int
	// Listed is the number of objects in a list, Watches the number of watches, and Definitions the number of definitions.
	Listed, Watches, Definitions int
}

// Full returns the settings of a full run.
func Full() Settings {
	return Settings{
		Rounds: 5, Starts: 3, Rows: regexp.MustCompile(""), Others: 0.1, Repeats: 2, Settle: 10 * time.Second, Work: 1,
		Fields: 195, Growth: []int{10, 100, 1000}, Objects: []int{1_000, 10_000}, Listed: 500, Watches: 1000, Definitions: 300,
	}
}

// Short returns the settings of a run that only shows that all rows work.
func Short() Settings {
	return Settings{
		Rounds: 1, Starts: 1, Rows: regexp.MustCompile(""), Others: 1, Work: 0,
		Fields: 195, Growth: []int{10}, Objects: []int{20}, Listed: 5, Watches: 20, Definitions: 10,
	}
}
