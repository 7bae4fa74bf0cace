package compare

import (
	"context"
	"fmt"
	"net/http"

	"holdfast.dev/holdfast/bench/side"
)

// definitionFields are the numbers of fields that generated definitions have, in turn. Most definitions of public projects are small
// and a few are very large.
func definitionFields() []int { return []int{30, 100, 30, 300, 100, 30, 1000, 100, 30, 300} }

// definitionsPerGroup is the number of definitions that have the same API group.
const definitionsPerGroup = 15

// generated returns one of the generated resources.
func generated(number int) resource {
	sizes := definitionFields()
	return resource{
		group: fmt.Sprintf("project%03d.example.com", number/definitionsPerGroup),
		name:  fmt.Sprintf("kind%04d", number), fields: sizes[number%len(sizes)],
	}
}

// definitions measures a server with each number of definitions.
func (r *runner) definitions(ctx context.Context) error {
	for _, n := range r.settings.Definitions {
		err := r.lifetimes(r.settings.samplesOf(n, veryManyDefinitions), definitionRows(n), func(sideIndex int) ([]Sample, error) {
			return r.defineMany(ctx, sideIndex, n)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// definitionRows are the rows about a number of definitions, in the order in which defineMany measures them.
func definitionRows(n int) []Row {
	section, with := "definitions", fmt.Sprintf("%d definitions", n)
	return []Row{
		{Section: section, Name: "CPU time to create a definition, up to " + with, Unit: "ms"},
		{Section: section, Name: "time to ready, with " + with, Unit: waitUnit, Goal: 0.25},
		{Section: section, Name: "CPU time to ready, with " + with, Unit: "ms", Goal: 0.25},
		{Section: section, Name: "memory after a start with " + with + " that no client uses", Unit: "MB", Goal: 0.2},
		{Section: section, Name: "CPU time of the first list of a definition, of " + with, Unit: "ms"},
		{Section: section, Name: "memory when all of " + with + " are in use", Unit: "MB", Goal: 0.2, Limit: usedLimit(n)},
	}
}

// usedLimit returns the memory in MB that a number of definitions in use may take.
func usedLimit(n int) float64 {
	if n == 2000 {
		return 1024
	}
	return 0
}

// defineMany creates n definitions, starts the server again, and lists the objects of each definition.
func (r *runner) defineMany(ctx context.Context, sideIndex, n int) ([]Sample, error) {
	l, err := r.begin(ctx, sideIndex)
	if err != nil {
		return nil, err
	}
	defer func() { l.stop() }()
	l.samples = nil // those of the first start, which has no definitions
	if err := l.define(ctx, n); err != nil {
		return nil, err
	}
	if err := l.restart(); err != nil {
		return nil, err
	}
	if err := l.rest(ctx); err != nil {
		return nil, err
	}
	if err := l.use(ctx, n); err != nil {
		return nil, err
	}
	return l.samples, nil
}

// define adds the CPU time for the creation of one definition. It ends when the server serves the last definition.
func (l *life) define(ctx context.Context, n int) error {
	client, err := l.server.Client(side.Administrator())
	if err != nil {
		return err
	}
	defer client.Close()
	return l.each(ctx, n, func() error {
		for i := range n {
			if _, err := client.Do(ctx, generated(i).create()); err != nil {
				return err
			}
		}
		return client.Await(ctx, side.Request{Method: http.MethodGet, Path: generated(n - 1).target().path})
	})
}

// use lists the objects of each definition, and adds the CPU time of one list and the memory of the server afterwards.
func (l *life) use(ctx context.Context, n int) error {
	client, err := l.server.Client(side.Administrator())
	if err != nil {
		return err
	}
	defer client.Close()
	err = l.each(ctx, n, func() error {
		for i := range n {
			if err := client.Await(ctx, side.Request{Method: http.MethodGet, Path: generated(i).target().path}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return l.rest(ctx)
}
