package cluster

import (
	"fmt"
	"strings"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// meter measures a server in phases.
type meter struct {
	server *side.Server
	all    []Usage
}

// measure runs a phase and records what the server used.
func (m *meter) measure(phase string, run func() error) error {
	if err := m.server.ResetPeak(); err != nil {
		return err
	}
	before, err := m.server.CPU()
	if err != nil {
		return err
	}
	started := time.Now()
	if err := run(); err != nil {
		return err
	}
	used := Usage{Phase: phase, Time: time.Since(started)}
	after, err := m.server.CPU()
	if err != nil {
		return err
	}
	used.CPU = after - before
	if used.Memory, err = m.server.Memory(); err != nil {
		return err
	}
	if used.Peak, err = m.server.PeakMemory(); err != nil {
		return err
	}
	m.all = append(m.all, used)
	return nil
}

// LoadReport returns a table with the phases of one or two sides.
func LoadReport(sides []string, usages [][]Usage) string {
	var text strings.Builder
	text.WriteString("| phase | server | time | CPU time | memory | peak |\n|---|---|--:|--:|--:|--:|\n")
	for phase := range usages[0] {
		for i, name := range sides {
			u := usages[i][phase]
			_, _ = fmt.Fprintf(&text, "| %s | %s | %.1f s | %.1f s | %d MB | %d MB |\n",
				u.Phase, name, u.Time.Seconds(), u.CPU.Seconds(), u.Memory>>20, u.Peak>>20)
		}
	}
	return text.String()
}
