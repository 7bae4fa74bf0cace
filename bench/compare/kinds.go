package compare

import (
	"context"

	"holdfast.dev/holdfast/bench/side"
)

// kinds measures writes of built-in kinds that components write all the time.
func (r *runner) kinds(ctx context.Context) error {
	return r.serve(ctx, func(servers []*side.Server) error {
		if err := pause(ctx, r.settings.Settle); err != nil {
			return err
		}
		return r.send(ctx, servers, kindRows())
	})
}

// kindRows returns the rows of writes for 1 and for 16 clients. The rows of ConfigMaps are among requestRows.
func kindRows() []requestRow {
	var rows []requestRow
	for _, clients := range []int{1, 16} {
		for _, kind := range []struct {
			name   string
			target target
		}{{"Secret", secrets()}, {"Lease", leases()}, {"Event", events()}} {
			for _, row := range []requestRow{
				{Row: Row{Name: "create"}, send: sendCreate, grows: true},
				{Row: Row{Name: "update"}, prepare: createOwn, send: sendUpdate},
				{Row: Row{Name: "merge patch"}, prepare: createOwn, send: sendMergePatch},
			} {
				row.Section, row.Name, row.Goal = "built-in kinds of "+plural(clients, "client"), kind.name+" "+row.Name, builtinGoal
				row.clients, row.requests, row.target = clients, 300, kind.target
				rows = append(rows, row)
			}
		}
	}
	return rows
}
