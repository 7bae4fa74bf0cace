package compare

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// Options are what a run needs beside its settings.
type Options struct {
	Sides []side.Side
	// Dir is the directory below which the servers store their data.
	Dir string
	// Progress gets a line about each row.
	Progress func(string)
	// Save gets the figures so far after each row, so that a run that is cut off loses nothing.
	Save func(*Figures) error
}

// runner is a run.
type runner struct {
	Options
	settings Settings
	figures  *Figures
	// stage is the name of the stage that runs.
	stage string
}

// Run runs the stages of the settings. If it returns an error, the figures have the rows of which all sides have a sample.
func Run(ctx context.Context, o Options, s Settings) (*Figures, error) {
	r := &runner{Options: o, settings: s, figures: &Figures{CPUs: runtime.NumCPU(), Settings: s}}
	for _, one := range o.Sides {
		r.figures.Sides = append(r.figures.Sides, SideName{Name: one.Name})
	}
	for _, one := range stages() {
		if !slices.Contains(s.Stages, one.name) {
			continue
		}
		if err := r.runStage(ctx, one); err != nil {
			return r.figures.complete(), fmt.Errorf("stage %s: %w", one.name, err)
		}
	}
	return r.figures.complete(), nil
}

// runStage runs one stage and records how long it took.
func (r *runner) runStage(ctx context.Context, one stage) error {
	r.stage = one.name
	record, started := &StageRun{Name: one.name, Flags: r.settings.Flags}, time.Now()
	r.figures.Runs = append(r.figures.Runs, record)
	r.Progress(fmt.Sprintf("stage %s: %s", one.name, one.about))
	err := one.run(r, ctx)
	record.Seconds, record.Complete = time.Since(started).Round(time.Second).Seconds(), err == nil
	if err == nil {
		r.Progress(fmt.Sprintf("stage %s took %.0f s", one.name, record.Seconds))
	}
	return err
}

// serve starts a server of each side, and runs work with them.
func (r *runner) serve(ctx context.Context, work func([]*side.Server) error) error {
	var servers []*side.Server
	defer func() {
		for _, server := range servers {
			server.Stop()
		}
	}()
	for i, one := range r.Sides {
		server, err := one.Start(r.Dir)
		if err != nil {
			return err
		}
		servers = append(servers, server)
		if err := r.identify(ctx, i, server); err != nil {
			return err
		}
	}
	return work(servers)
}

// identify records the version of a server, and waits until the namespace default exists.
func (r *runner) identify(ctx context.Context, sideIndex int, server *side.Server) error {
	client, err := server.Client(side.Administrator())
	if err != nil {
		return err
	}
	defer client.Close()
	if r.figures.Sides[sideIndex].Version, err = server.Version(ctx); err != nil {
		return fmt.Errorf("%s: %w", r.figures.Sides[sideIndex].Name, err)
	}
	return client.Await(ctx, side.Request{Method: http.MethodGet, Path: "/api/v1/namespaces/default"})
}

// takeTurns takes the samples of a row on all servers in turn.
func (r *runner) takeTurns(servers []*side.Server, row Row, take func(*side.Server) (Sample, error)) error {
	row.Stage = r.stage
	if r.settings.Rounds < 1 || !r.settings.Rows.MatchString(row.title()) {
		return nil
	}
	for range r.settings.Rounds {
		for i, server := range servers {
			best, err := r.undisturbed(func() ([]Sample, error) {
				one, err := take(server)
				return []Sample{one}, err
			})
			if err != nil {
				return fmt.Errorf("%s: %s: %w", r.figures.Sides[i].Name, row.title(), err)
			}
			r.figures.add(row, i, best[0])
		}
	}
	r.Progress(r.figures.Lines[len(r.figures.Lines)-1].markdown(3))
	return r.Save(r.figures.complete())
}

// lifetimes measures rows for which each sample needs servers of its own. measure returns a sample for each of the rows.
func (r *runner) lifetimes(samples int, rows []Row, measure func(sideIndex int) ([]Sample, error)) error {
	for range samples {
		for i := range r.Sides {
			taken, err := r.undisturbed(func() ([]Sample, error) { return measure(i) })
			if err != nil {
				return fmt.Errorf("%s: %w", r.figures.Sides[i].Name, err)
			}
			for n, row := range rows {
				row.Stage = r.stage
				r.figures.add(row, i, taken[n])
				r.Progress(fmt.Sprintf("%s: %s: %s", r.figures.Sides[i].Name, row.title(), format(row, taken[n].Value)))
			}
			if err := r.Save(r.figures.complete()); err != nil {
				return err
			}
		}
	}
	return nil
}

// undisturbed takes samples together, again while one of them is disturbed, and returns the attempt with the least work of other
// processes.
func (r *runner) undisturbed(take func() ([]Sample, error)) ([]Sample, error) {
	best, err := take()
	again := 0
	for err == nil && others(best) > r.settings.Others && again < r.settings.Repeats {
		var next []Sample
		if next, err = take(); err == nil && others(next) < others(best) {
			best = next
		}
		again++
	}
	for i := range best {
		best[i].Again = again
	}
	return best, err
}

// pause waits, unless the context ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
