package render

import "time"

// NewRun returns a Run with a part of the budget left, which is given as the time of one processor.
func NewRun(left time.Duration) *Run {
	return &Run{spent: runWork - int(left.Milliseconds())*millisecond}
}
