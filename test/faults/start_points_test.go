package faults_test

import (
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/internal/waittest"
)

// startsEach is how often the server starts with the failpoints that it reaches only then.
const startsEach = 18

// exerciseStart lets the server wait, fail and die at the failpoints that no client has reached, while it starts.
func (s *site) exerciseStart(points []point) {
	s.t.Helper()
	left := slices.DeleteFunc(slices.Clone(points), func(p point) bool { return s.hits[p.name].sum() > 0 })
	for range startsEach {
		if len(left) == 0 {
			return
		}
		s.stop()
		s.startArmed(left, "1*sleep(10)")
		for _, p := range left {
			if n, err := s.switches.count(p); err == nil && n > 0 {
				s.hits[p.name].waited++
			}
		}
		left = slices.DeleteFunc(left, func(p point) bool { return s.hits[p.name].sum() == 0 })
	}
	for _, p := range left {
		for range 2 {
			s.stop()
			s.server.env = s.variables([]point{p}, "1*panic")
			process := s.server.launch(s.t)
			s.t.Cleanup(process.kill)
			waittest.Until(s.t, "the server dies at "+p.name+" while it starts", process.hasEnded)
			s.hits[p.name].died++
			s.start(bounds)
			s.settle()
		}
		if !p.fails {
			continue
		}
		s.stop()
		s.server.env = s.variables([]point{p}, `1*return("armed")`)
		process := s.server.launch(s.t)
		s.t.Cleanup(process.kill)
		// It ends with an error, or tries the step again.
		if _, err := process.firstLine(); err != nil {
			s.t.Logf("%s fails while the server starts: %s", p.name, process.output)
		}
		process.kill()
		s.hits[p.name].failed++
		s.start(bounds)
		s.settle()
	}
}

// stop ends the clients and the server.
func (s *site) stop() {
	s.endLoad()
	s.server.kill()
}

// startArmed starts the server with some failpoints armed.
func (s *site) startArmed(points []point, actions string) {
	s.t.Helper()
	s.server.env = s.variables(points, actions)
	s.server.start(s.t)
	s.settle()
}

// variables returns the variables of a server with some failpoints armed from the start.
func (s *site) variables(points []point, actions string) []string {
	own, etcd := []string{bounds}, []string{}
	for _, p := range points {
		one := fmt.Sprintf("%s=%s", p.name, actions)
		if p.etcd {
			etcd = append(etcd, one)
		} else {
			own = append(own, one)
		}
	}
	return append([]string{"HOLDFAST_FAILPOINTS=" + strings.Join(own, ";"), "GOFAIL_FAILPOINTS=" + strings.Join(etcd, ";")}, s.env...)
}
