package compare

import (
	"context"
	"fmt"

	"holdfast.dev/holdfast/bench/side"
)

// Row is one kind of work.
type Row struct {
	// Stage is the stage that measures the row, and Section the table that the row is in.
	Stage   string `json:"stage"`
	Section string `json:"section"`
	Name    string `json:"name"`
	// Unit is the unit of the values: ms of CPU time, MB of memory, or waitUnit.
	Unit string `json:"unit"`
	// Goal is the highest ratio of Holdfast's value to the peer's that reaches the goal, or 0 if there is none.
	Goal float64 `json:"goal,omitempty"`
	// Limit is the highest value of Holdfast that reaches the goal, in the unit of the row, or 0 if there is none.
	Limit float64 `json:"limit,omitempty"`
}

// waitUnit is the unit of times that other work on the machine makes longer. The report leaves them out if the run was disturbed.
const waitUnit = "ms waiting"

func (r Row) title() string { return r.Section + ": " + r.Name }

// requestRow is a row of single requests.
type requestRow struct {
	Row
	target  target
	clients int
	// requests is the number of requests in a full sample.
	requests int
	// prepare runs before the sample, for each worker, and send sends one request.
	prepare, send func(ctx context.Context, w *worker) error
	// grows says that each request adds an object. These are deleted after the sample.
	grows bool
}

// requests measures single requests of 1 and of 16 clients.
func (r *runner) requests(ctx context.Context) error {
	return r.serve(ctx, func(servers []*side.Server) error {
		if err := r.define(ctx, servers, customResource(r.settings), listedResource(r.settings)); err != nil {
			return err
		}
		return r.send(ctx, servers, requestRows(r.settings))
	})
}

// fields measures requests for custom resources with more and more fields.
func (r *runner) fields(ctx context.Context) error {
	return r.serve(ctx, func(servers []*side.Server) error {
		for _, fields := range r.settings.Growth {
			if err := r.define(ctx, servers, grownResource(fields)); err != nil {
				return err
			}
		}
		return r.send(ctx, servers, fieldRows(r.settings))
	})
}

// define creates definitions on the servers, waits until they are served, and lets the servers come to rest.
func (r *runner) define(ctx context.Context, servers []*side.Server, resources ...resource) error {
	for i, server := range servers {
		for _, one := range resources {
			if err := defineOne(ctx, server, one); err != nil {
				return fmt.Errorf("%s: %w", r.figures.Sides[i].Name, err)
			}
		}
	}
	return pause(ctx, r.settings.Settle)
}

// send measures rows of requests on servers that run at the same time and take turns.
func (r *runner) send(ctx context.Context, servers []*side.Server, rows []requestRow) error {
	meters, err := r.meters(ctx, servers)
	defer func() {
		for _, m := range meters {
			m.client.Close()
		}
	}()
	if err != nil {
		return err
	}
	// generation is higher than every generation that an earlier sample has used.
	generation := 0
	for _, row := range rows {
		row.Unit = "ms"
		row.requests = r.settings.requests(row)
		err := r.takeTurns(servers, row.Row, func(server *side.Server) (Sample, error) {
			generation += 10 * row.requests
			one, err := row.sample(ctx, meters[server], generation)
			if err == nil && row.grows {
				err = deleteAll(ctx, server, row.target)
			}
			return one, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// builtinGoal is the goal of the rows about writes of built-in kinds.
const builtinGoal = 0.33

// leastRequests is the least number of requests of a sample: to write the metrics, between which the allocated memory of a sample is read,
// allocates 4 MB. Rows of large objects and of lists have fewer.
const leastRequests = 200

// requests returns the number of requests in a sample of a row. Without work, it is what shows that the row works.
func (s Settings) requests(row requestRow) int {
	n := int(float64(row.requests) * s.Work)
	if s.Work > 0 {
		n = max(n, min(row.requests, leastRequests))
	}
	return max(n, row.clients, 2)
}

// requestRows returns the rows of requests for 1 and for 16 clients.
func requestRows(s Settings) []requestRow {
	custom, listed := customResource(s), listedResource(s)
	var rows []requestRow
	for _, clients := range []int{1, 16} {
		table := []requestRow{
			{Row: Row{Name: "create", Goal: 0.1}, requests: 200, send: sendCreate, grows: true},
			{Row: Row{Name: "get", Goal: 0.1}, requests: 500, prepare: createOwn, send: sendGet},
			{Row: Row{Name: "update", Goal: 0.1}, requests: 200, prepare: createOwn, send: sendUpdate},
			{Row: Row{Name: "merge patch", Goal: 0.1}, requests: 200, prepare: createOwn, send: sendMergePatch},
			{Row: Row{Name: "apply", Goal: 1.0 / 7}, requests: 200, send: sendApply},
			{Row: Row{Name: fmt.Sprintf("list of %d", s.Listed), Goal: 0.1}, requests: 10, prepare: fill(s.Listed), send: sendList, target: listed.target()},
			{Row: Row{Name: "ConfigMap create", Goal: builtinGoal}, requests: 300, send: sendCreate, grows: true, target: configMaps()},
			{Row: Row{Name: "ConfigMap get", Goal: 0.5}, requests: 500, prepare: createOwn, send: sendGet, target: configMaps()},
			{Row: Row{Name: "ConfigMap update", Goal: builtinGoal}, requests: 300, prepare: createOwn, send: sendUpdate, target: configMaps()},
			{Row: Row{Name: "ConfigMap merge patch", Goal: builtinGoal}, requests: 300, prepare: createOwn, send: sendMergePatch, target: configMaps()},
			{Row: Row{Name: "ConfigMap apply", Goal: builtinGoal}, requests: 300, send: sendApply, target: configMaps()},
		}
		for _, r := range table {
			r.Section, r.clients = plural(clients, "client"), clients
			if r.target.path == "" {
				r.target = custom.target()
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// fieldRows returns the rows about growth with the fields.
func fieldRows(s Settings) []requestRow {
	var rows []requestRow
	for _, fields := range s.Growth {
		grown := grownResource(fields).target()
		for _, r := range []requestRow{
			{Row: Row{Name: "create"}, send: sendCreate, grows: true},
			{Row: Row{Name: "get"}, prepare: createOwn, send: sendGet},
			{Row: Row{Name: "update"}, prepare: createOwn, send: sendUpdate},
			{Row: Row{Name: "apply"}, send: sendApply},
		} {
			r.Section, r.Name = "growth with the fields", fmt.Sprintf("%s, %d fields", r.Name, fields)
			// A request for a large object takes so long that few of them are enough, and allocates so much.
			r.clients, r.requests, r.target = 1, max(20, min(leastRequests, 20_000/fields)), grown
			rows = append(rows, r)
		}
	}
	return rows
}

// customResource returns the custom resource of the rows of requests and watches.
func customResource(s Settings) resource {
	return resource{group: "bench.example.com", name: "fleet", fields: s.Fields}
}

// listedResource returns the resource of the rows of lists. It is another one, so that the other rows do not change the lists.
func listedResource(s Settings) resource {
	return resource{group: "bench.example.com", name: "roster", fields: s.Fields}
}

// grownResource returns the resource of the rows about growth.
func grownResource(fields int) resource {
	return resource{group: "growth.example.com", name: fmt.Sprintf("grown%d", fields), fields: fields}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
