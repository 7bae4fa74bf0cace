package compare

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// changePause is how long a server has after a change of a definition for the work that it does in the background, such as a new
// OpenAPI document.
const changePause = time.Second

// changes measures what a change of a definition costs, for one large definition with objects, and where there are many definitions.
func (r *runner) changes(ctx context.Context) error {
	objects, rounds := r.settings.Listed, r.settings.Changes
	section, large := "definitions", fmt.Sprintf("a definition with %d properties", r.settings.Properties)
	rows := []Row{
		{Section: section, Name: "CPU time to create " + large, Unit: "ms", Goal: 0.33},
		{Section: section, Name: "CPU time of the first write of an object of " + large, Unit: "ms", Goal: 0.33},
		{Section: section, Name: "memory that " + large + " adds", Unit: "MB", Goal: 0.33},
		{Section: section, Name: fmt.Sprintf("CPU time to add an optional field to %s and %d objects", large, objects), Unit: "ms"},
		{Section: section, Name: fmt.Sprintf("CPU time to narrow a field of %s and %d objects", large, objects), Unit: "ms"},
	}
	err := r.lifetimes(r.settings.Starts, rows, func(sideIndex int) ([]Sample, error) { return r.changeLarge(ctx, sideIndex, objects, rounds) })
	if err != nil {
		return err
	}
	for _, n := range r.settings.Definitions {
		row := []Row{{Section: section, Name: fmt.Sprintf("CPU time to narrow a field of a definition, of %d definitions", n), Unit: "ms"}}
		err := r.lifetimes(r.settings.samplesOf(n, veryManyDefinitions), row, func(sideIndex int) ([]Sample, error) {
			return r.changeOneOf(ctx, sideIndex, n, rounds)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// changeLarge creates a large definition and objects, and changes the definition.
func (r *runner) changeLarge(ctx context.Context, sideIndex, objects, rounds int) ([]Sample, error) {
	return r.changing(ctx, sideIndex, func(l *life, client *side.Client) error {
		large := resource{group: "large.example.com", name: "atlas", fields: r.settings.Properties}
		// The objects have as many fields as those of other rows.
		small := resource{group: large.group, name: large.name, fields: r.settings.Fields}
		var created usage
		var written Sample
		err := l.grown(ctx, func() (err error) {
			if created, err = measure(l.server, func() error { return defineOne(ctx, l.server, large) }); err != nil {
				return err
			}
			written, err = createObjects(ctx, l.server, small.target(), 0, 1)
			return err
		})
		if err != nil {
			return err
		}
		added := l.samples[0]
		l.samples = []Sample{created.sample(milliseconds(created.cpu)), written, added}
		if _, err := createObjects(ctx, l.server, small.target(), 1, objects-1); err != nil {
			return err
		}
		err = l.change(ctx, client, rounds, func(i int) (resource, string) {
			return large, fmt.Sprintf(`{"op":"add","path":%q,"value":{"type":"string"}}`, specSchema+"/properties/extra"+fmt.Sprint(i))
		})
		if err != nil {
			return err
		}
		return l.change(ctx, client, rounds, func(i int) (resource, string) { return large, narrower(i) })
	})
}

// changeOneOf creates n definitions and changes some of them.
func (r *runner) changeOneOf(ctx context.Context, sideIndex, n, rounds int) ([]Sample, error) {
	return r.changing(ctx, sideIndex, func(l *life, client *side.Client) error {
		if err := l.define(ctx, n); err != nil {
			return err
		}
		if err := pause(ctx, l.settings.Settle); err != nil {
			return err
		}
		l.samples = nil
		return l.change(ctx, client, rounds, func(i int) (resource, string) { return generated(i * n / rounds), narrower(i) })
	})
}

// changing runs work with a new server of a side, and returns the samples of the work.
func (r *runner) changing(ctx context.Context, sideIndex int, work func(*life, *side.Client) error) ([]Sample, error) {
	l, err := r.begin(ctx, sideIndex)
	if err != nil {
		return nil, err
	}
	defer l.stop()
	client, err := l.server.Client(side.Administrator())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	l.samples = nil // those of the start
	err = work(l, client)
	return l.samples, err
}

// specSchema is the place of the schema of spec in a definition.
const specSchema = "/spec/versions/0/schema/openAPIV3Schema/properties/spec"

// narrower returns an operation that makes a field accept less than the one before.
func narrower(i int) string {
	return fmt.Sprintf(`{"op":"replace","path":%q,"value":%d}`, specSchema+"/properties/region/maxLength", 63-i)
}

// change changes definitions, and adds the CPU time of one change with the list after it, by which every server has read the definition.
func (l *life) change(ctx context.Context, client *side.Client, rounds int, one func(int) (resource, string)) error {
	used, err := measure(l.server, func() error {
		for i := range rounds {
			changed, operation := one(i)
			_, err := client.Do(ctx, side.Request{
				Method: http.MethodPatch, ContentType: "application/json-patch+json", Body: []byte("[" + operation + "]"),
				Path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + changed.plural() + "." + changed.group,
			})
			if err != nil {
				return err
			}
			if _, err := client.Do(ctx, side.Request{Method: http.MethodGet, Path: changed.target().path + "?limit=1"}); err != nil {
				return err
			}
			if err := pause(ctx, changePause); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		l.add(used.sample(milliseconds(used.cpu) / float64(rounds)))
	}
	return err
}
