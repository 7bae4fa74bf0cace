package compare

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// Result holds the samples of a run.
type Result struct {
	settings Settings
	// sides are the names of the sides, and versions what the servers answer for /version.
	sides, versions []string
	lines           []*line
	// taken is the number of samples about requests, repeated how many measurements were discarded because they were disturbed, and
	// disturbed how many samples stayed disturbed.
	taken, repeated, disturbed int
}

// line is a row with its samples, by side.
type line struct {
	Row
	samples [][]sample
}

// Run measures all rows. It stores the data of the servers below dir, and calls progress with a line about each row. If it returns an
// error, the result has the rows of which all sides have a sample.
func Run(ctx context.Context, sides []side.Side, dir string, s Settings, progress func(string)) (*Result, error) {
	r := &Result{settings: s}
	for _, one := range sides {
		r.sides = append(r.sides, one.Name)
	}
	err := r.requests(ctx, sides, dir, progress)
	for range s.Starts {
		for _, one := range sides {
			if err == nil {
				err = r.starts(ctx, one, dir, progress)
			}
		}
	}
	r.lines = slices.DeleteFunc(r.lines, func(l *line) bool {
		return slices.ContainsFunc(l.samples, func(samples []sample) bool { return len(samples) == 0 })
	})
	return r, err
}

// starts measures the rows for which a side needs servers of its own.
func (r *Result) starts(ctx context.Context, one side.Side, dir string, progress func(string)) error {
	i := slices.Index(r.sides, one.Name)
	samples, err := lifetime(ctx, one, dir, r.settings)
	if err != nil {
		return fmt.Errorf("%s: %w", one.Name, err)
	}
	r.addAll(lifetimeRows(r.settings), i, samples, progress)
	grown, err := storeObjects(ctx, one, dir, r.settings)
	if err != nil {
		return fmt.Errorf("%s: %w", one.Name, err)
	}
	for n, count := range r.settings.Objects {
		r.addAll(objectRows(count), i, grown[n], progress)
	}
	return nil
}

// addAll adds a sample to each of some rows.
func (r *Result) addAll(rows []Row, sideIndex int, samples []sample, progress func(string)) {
	for i, row := range rows {
		r.add(row, sideIndex, samples[i])
		progress(fmt.Sprintf("%s: %s: %s", r.sides[sideIndex], row.title(), format(row, samples[i].value)))
	}
}

// requests measures the rows of requests on servers that run at the same time and take turns.
func (r *Result) requests(ctx context.Context, sides []side.Side, dir string, progress func(string)) error {
	var servers []*side.Server
	defer func() {
		for _, server := range servers {
			server.Stop()
		}
	}()
	for _, one := range sides {
		server, err := one.Start(dir)
		if err != nil {
			return err
		}
		servers = append(servers, server)
		if err := r.define(ctx, server); err != nil {
			return fmt.Errorf("%s: %w", one.Name, err)
		}
	}
	time.Sleep(r.settings.Settle)
	// generation is higher than every generation that an earlier sample has used.
	generation := 0
	for _, row := range requestRows(r.settings) {
		err := r.takeTurns(servers, row.Row, func(server *side.Server) (sample, error) {
			generation += 10 * row.requests
			one, err := row.sample(ctx, server, generation)
			if err == nil && row.grows {
				err = deleteAll(ctx, server, row.target)
			}
			return one, err
		}, progress)
		if err != nil {
			return err
		}
	}
	watched := Row{Section: "watches", Name: fmt.Sprintf("change that goes to %d watches", r.settings.Watches), Unit: "ms", Goal: 0.5}
	return r.takeTurns(servers, watched, func(server *side.Server) (sample, error) {
		return fanOut(ctx, server, r.settings)
	}, progress)
}

// takeTurns takes the samples of a row on all servers in turn.
func (r *Result) takeTurns(
	servers []*side.Server, row Row, take func(*side.Server) (sample, error), progress func(string),
) error {
	if r.settings.Rounds < 1 || !r.settings.Rows.MatchString(row.title()) {
		return nil
	}
	for range r.settings.Rounds {
		for i, server := range servers {
			best, err := r.undisturbed(func() (sample, error) { return take(server) })
			if err != nil {
				return fmt.Errorf("%s: %s: %w", r.sides[i], row.title(), err)
			}
			r.add(row, i, best)
		}
	}
	progress(r.lines[len(r.lines)-1].markdown(3))
	return nil
}

// undisturbed takes a sample again while it is disturbed, and returns the one with the least work of other processes.
func (r *Result) undisturbed(take func() (sample, error)) (sample, error) {
	best, err := take()
	for attempt := 0; err == nil && best.others > r.settings.Others && attempt < r.settings.Repeats; attempt++ {
		var again sample
		if again, err = take(); err == nil && again.others < best.others {
			best = again
		}
		r.repeated++
	}
	r.taken++
	if best.others > r.settings.Others {
		r.disturbed++
	}
	return best, err
}

func (r *Result) add(row Row, sideIndex int, s sample) {
	i := slices.IndexFunc(r.lines, func(l *line) bool { return l.Row == row })
	if i < 0 {
		i = len(r.lines)
		r.lines = append(r.lines, &line{Row: row, samples: make([][]sample, len(r.sides))})
	}
	r.lines[i].samples[sideIndex] = append(r.lines[i].samples[sideIndex], s)
}

// define records the version of a server, creates the definitions of the rows and waits until they are served.
func (r *Result) define(ctx context.Context, server *side.Server) error {
	client, err := server.Client(side.Administrator())
	if err != nil {
		return err
	}
	defer client.Close()
	version, err := client.Do(ctx, side.Request{Method: http.MethodGet, Path: "/version"})
	if err != nil {
		return err
	}
	r.versions = append(r.versions, gitVersion(version))
	resources := []resource{customResource(r.settings), listedResource(r.settings)}
	for _, fields := range r.settings.Growth {
		resources = append(resources, grownResource(fields))
	}
	for _, one := range resources {
		if _, err := client.Do(ctx, one.create()); err != nil {
			return err
		}
	}
	for _, one := range resources {
		if err := client.Await(ctx, side.Request{Method: http.MethodGet, Path: one.target().path}); err != nil {
			return err
		}
	}
	return client.Await(ctx, side.Request{Method: http.MethodGet, Path: "/api/v1/namespaces/default"})
}

// deleteAll deletes the objects of a target.
func deleteAll(ctx context.Context, server *side.Server, t target) error {
	client, err := server.Client(side.Administrator())
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = client.Do(ctx, side.Request{Method: http.MethodDelete, Path: t.path})
	return err
}
