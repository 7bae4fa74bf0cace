package scalerun

import (
	"fmt"
	"strings"
)

// summary returns a phase in one line.
func (p *Phase) summary() string {
	errors := 0
	for _, r := range p.Requests {
		errors += r.Errors
	}
	text := fmt.Sprintf("%.1f s, CPU %.1f s (client %.1f s), memory %.0f MB (peak %.0f, live heap %.0f), %d watches, %d events with lag p99 %s, %d errors",
		p.Seconds, p.CPU, p.Client, p.Memory, p.Peak, p.Heap, p.Watches, p.Events, inMilliseconds(p.Lag.P99), errors)
	if p.Note != "" {
		text += "; " + p.Note
	}
	return text
}

// Markdown returns the report: a table of the phases, and one of the requests of each phase.
func (r *Result) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d CPUs, %.0f MB of memory. `%s`\n\n", r.CPUs, r.Memory, r.Command)
	b.WriteString(r.PhaseTable())
	for _, s := range r.Sides {
		if s.Note != "" {
			fmt.Fprintf(&b, "\n%s: %s\n", s.Name, s.Note)
		}
	}
	for _, name := range r.names() {
		fmt.Fprintf(&b, "\n%s:\n\n%s", name, r.RequestTable(name))
	}
	return b.String()
}

// names returns the names of the phases, in their order.
func (r *Result) names() []string {
	var names []string
	for _, s := range r.Sides {
		if len(s.Phases) > len(names) {
			names = nil
			for _, p := range s.Phases {
				names = append(names, p.Name)
			}
		}
	}
	return names
}

// PhaseTable returns a table of the phases, with a row for each side.
func (r *Result) PhaseTable() string {
	var b strings.Builder
	b.WriteString("| phase | server | time | CPU time | of the clients | memory | peak | live heap | allocated | watches | events | lag p50 | lag p99 |\n" +
		"|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, name := range r.names() {
		for _, s := range r.Sides {
			p := s.Phase(name)
			if p == nil {
				continue
			}
			allocated := ""
			if p.Allocated > 0 {
				allocated = fmt.Sprintf("%.0f MB", p.Allocated)
			}
			fmt.Fprintf(&b, "| %s | %s | %.1f s | %.1f s | %.1f s | %.0f MB | %.0f MB | %.0f MB | %s | %d | %d | %s | %s |\n", name, s.Name,
				p.Seconds, p.CPU, p.Client, p.Memory, p.Peak, p.Heap, allocated, p.Watches, p.Events, inMilliseconds(p.Lag.P50), inMilliseconds(p.Lag.P99))
		}
	}
	for _, s := range r.Sides {
		for _, p := range s.Phases {
			if p.Note != "" {
				fmt.Fprintf(&b, "\n%s, %s: %s.\n", s.Name, p.Name, p.Note)
			}
		}
	}
	return b.String()
}

// RequestTable returns a table of the requests of a phase. A latency above the service level is bold.
func (r *Result) RequestTable(phase string) string {
	var b strings.Builder
	b.WriteString("| request | server | number | p50 | p99 | longest | service level | errors |\n|---|---|--:|--:|--:|--:|--:|--:|\n")
	for _, s := range r.Sides {
		p := s.Phase(phase)
		if p == nil {
			continue
		}
		for _, one := range p.Requests {
			p99 := inMilliseconds(one.P99)
			if !one.Met() {
				p99 = "**" + p99 + "**"
			}
			fmt.Fprintf(&b, "| %s %s | %s | %d | %s | %s | %s | %.0f s | %d |\n", one.Verb, one.Resource, s.Name, one.Count,
				inMilliseconds(one.P50), p99, inMilliseconds(one.Max), one.Level()/1000, one.Errors)
		}
	}
	for _, s := range r.Sides {
		p := s.Phase(phase)
		if p == nil {
			continue
		}
		for _, one := range p.Requests {
			if one.Failure != "" {
				fmt.Fprintf(&b, "\n%s, %s %s: the last error was `%.200s`\n", s.Name, one.Verb, one.Resource, strings.ReplaceAll(one.Failure, "\n", " "))
			}
		}
	}
	return b.String()
}

// inMilliseconds returns a latency.
func inMilliseconds(value float64) string {
	switch {
	case value >= 10_000:
		return fmt.Sprintf("%.1f s", value/1000)
	case value >= 10:
		return fmt.Sprintf("%.0f ms", value)
	default:
		return fmt.Sprintf("%.1f ms", value)
	}
}
