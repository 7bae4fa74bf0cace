package compare

import (
	"context"
	"fmt"

	"holdfast.dev/holdfast/bench/side"
)

// changes is the number of changes in a sample of the rows about watches.
const changes = 10

// fanGoal is the goal of the rows about watches.
const fanGoal = 0.25

// fanRow is a row about a change that goes to many watches.
type fanRow struct {
	Row
	target target
	// selector returns the selector of one of the watches. All of them select the changed object.
	selector func(i int) string
}

func fanRows(s Settings) []fanRow {
	all := func(int) string { return "" }
	// No two watches have the same selector, and each must be evaluated.
	each := func(i int) string { return fmt.Sprintf("&labelSelector=tier!%%3Dtier-%d", i) }
	rows := []fanRow{
		{Row{Name: "change that goes to %d watches"}, customResource(s).target(), all},
		{Row{Name: "change that goes to %d watches with selectors"}, customResource(s).target(), each},
		{Row{Name: "change of a ConfigMap that goes to %d watches"}, configMaps(), all},
		{Row{Name: "change of a ConfigMap that goes to %d watches with selectors"}, configMaps(), each},
	}
	for i := range rows {
		rows[i].Section, rows[i].Unit, rows[i].Goal = "watches", "ms", fanGoal
		rows[i].Name = fmt.Sprintf(rows[i].Name, s.Watches)
	}
	return rows
}

// watches measures changes that go to many watches of a namespace.
func (r *runner) watches(ctx context.Context) error {
	return r.serve(ctx, func(servers []*side.Server) error {
		if err := r.define(ctx, servers, customResource(r.settings)); err != nil {
			return err
		}
		for _, row := range fanRows(r.settings) {
			err := r.takeTurns(servers, row.Row, func(server *side.Server) (Sample, error) { return row.sample(ctx, server, r.settings) })
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// sample measures the CPU time of a server for a change of an object that n watches get, and what it allocates.
func (row fanRow) sample(ctx context.Context, server *side.Server, s Settings) (Sample, error) {
	m, err := newMeter(server)
	if err != nil {
		return Sample{}, err
	}
	defer m.client.Close()
	w := &worker{Client: m.client, target: row.target, name: "watched"}
	if err := createOwn(ctx, w); err != nil {
		return Sample{}, err
	}
	open, err := openEach(ctx, m.client, s.Watches, func(i int) string {
		return w.path + "?watch=true&resourceVersion=" + w.revision + row.selector(i)
	})
	if err != nil {
		return Sample{}, err
	}
	defer open.close()
	events := 0
	change := func(ctx context.Context, w *worker) error {
		if err := sendMergePatch(ctx, w); err != nil {
			return err
		}
		events += s.Watches
		return open.await(events)
	}
	if err := change(ctx, w); err != nil {
		return Sample{}, err
	}
	return m.measureRequests(ctx, changes, 1, func() error { return sendAll(ctx, []*worker{w}, changes, change) })
}
