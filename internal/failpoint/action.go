//go:build failpoints

package failpoint

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// What an action does.
const (
	off = iota
	kill
	wait
	fail
)

// action is what a process does at a failpoint.
type action struct {
	kind int
	// times is how often it still does this, negative without a bound.
	times int
	delay time.Duration
	text  string
}

var actionForm = regexp.MustCompile(`^(?:(\d+)\*)?(off|panic|sleep|return)(?:\((.*)\))?$`)

// parse reads actions.
func parse(text string) ([]action, error) {
	var all []action
	for one := range strings.SplitSeq(text, "->") {
		parts := actionForm.FindStringSubmatch(one)
		if parts == nil {
			return nil, fmt.Errorf("%q is no action: want off, panic, sleep(MILLISECONDS) or return(TEXT)", one)
		}
		a := action{times: -1, text: strings.Trim(parts[3], `"`)}
		if parts[1] != "" {
			times, err := strconv.Atoi(parts[1])
			if err != nil {
				return nil, fmt.Errorf("%q: %w", one, err)
			}
			a.times = times
		}
		switch parts[2] {
		case "panic":
			a.kind = kill
		case "return":
			a.kind = fail
		case "sleep":
			milliseconds, err := strconv.Atoi(a.text)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", one, err)
			}
			a.kind, a.delay = wait, time.Duration(milliseconds)*time.Millisecond
		}
		all = append(all, a)
	}
	return all, nil
}
