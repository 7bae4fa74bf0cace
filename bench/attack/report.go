package attack

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Ends is a group of slow bodies that ended with the same status.
type Ends struct {
	// Code is the status, or 0 if the connection ended without an answer.
	Code  int
	Count int
	// First and Last are the shortest and the longest time until the end.
	First, Last time.Duration
}

// group groups the ends of slow bodies by their status.
func group(ends []end) []Ends {
	byCode := map[int]*Ends{}
	for _, e := range ends {
		g := byCode[e.code]
		if g == nil {
			g = &Ends{Code: e.code, First: e.after}
			byCode[e.code] = g
		}
		g.Count++
		g.First, g.Last = min(g.First, e.after), max(g.Last, e.after)
	}
	var groups []Ends
	for _, code := range slices.Sorted(maps.Keys(byCode)) {
		groups = append(groups, *byCode[code])
	}
	return groups
}

// Report returns the results as a Markdown table with one column for each side.
func Report(results []*Result) string {
	var b strings.Builder
	b.WriteString("| |")
	for _, r := range results {
		fmt.Fprintf(&b, " %s |", r.Side)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(results)) + "\n")
	for i, v := range results[0].Victims {
		for _, phase := range []struct {
			name string
			of   func(VictimResult) *Answers
		}{
			{"before", func(v VictimResult) *Answers { return v.Before }},
			{"during the attack", func(v VictimResult) *Answers { return v.During }},
		} {
			fmt.Fprintf(&b, "| %s, %s |", v.Name, phase.name)
			for _, r := range results {
				fmt.Fprintf(&b, " %s |", phase.of(r.Victims[i]))
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("| ends of the slow bodies |")
	for _, r := range results {
		var parts []string
		for _, e := range r.Ends {
			parts = append(parts, e.String())
		}
		fmt.Fprintf(&b, " %s |", strings.Join(parts, "; "))
	}
	b.WriteString("\n")
	return b.String()
}

// String returns the counts, and the times until the successful answers.
func (a *Answers) String() string {
	parts := []string{fmt.Sprintf("%d succeeded", len(a.OK))}
	if a.Refused > 0 {
		parts = append(parts, fmt.Sprintf("**%d refused (429)**", a.Refused))
	}
	if a.Failed > 0 {
		parts = append(parts, fmt.Sprintf("**%d failed** (%v)", a.Failed, a.Err))
	}
	if len(a.OK) > 0 {
		slices.Sort(a.OK)
		parts = append(parts, fmt.Sprintf("p50 %s, p99 %s, longest %s",
			milliseconds(a.quantile(50)), milliseconds(a.quantile(99)), milliseconds(a.quantile(100))))
	}
	return strings.Join(parts, ", ")
}

// quantile returns the time in which the given percentage of the successful answers arrived. OK must be sorted.
func (a *Answers) quantile(percent int) time.Duration { return a.OK[(len(a.OK)-1)*percent/100] }

func milliseconds(d time.Duration) string {
	if d >= time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

// String says how many bodies ended, how, and after which time.
func (e Ends) String() string {
	how := "without an answer"
	if e.Code != 0 {
		how = fmt.Sprintf("with %d (%s)", e.Code, http.StatusText(e.Code))
	}
	when := fmt.Sprintf("after %s to %s", milliseconds(e.First), milliseconds(e.Last))
	return fmt.Sprintf("%d %s %s", e.Count, how, when)
}
