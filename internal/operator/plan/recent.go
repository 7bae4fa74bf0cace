package plan

import (
	"maps"
	"slices"

	"holdfast.dev/holdfast/api"
)

// Recent returns the status of the plans of an Instance that have run, the latest first.
func Recent(instance *api.Instance) []api.PlanStatus {
	var ran []api.PlanStatus
	for _, name := range slices.Sorted(maps.Keys(instance.Status.PlanStatus)) {
		status := instance.Status.PlanStatus[name]
		status.Name = name
		if status.Status.Running() || status.Status.Ended() {
			ran = append(ran, status)
		}
	}
	last := instance.Spec.PlanExecution.UID
	slices.SortStableFunc(ran, func(a, b api.PlanStatus) int {
		switch {
		// Timestamps have a resolution of one second, in which two plans can run. The UID
		// tells which one was last.
		case a.UID == last && b.UID != last:
			return -1
		case b.UID == last && a.UID != last:
			return 1
		case a.LastUpdatedTimestamp == nil || b.LastUpdatedTimestamp == nil:
			return 0
		case a.LastUpdatedTimestamp.After(b.LastUpdatedTimestamp.Time):
			return -1
		case b.LastUpdatedTimestamp.After(a.LastUpdatedTimestamp.Time):
			return 1
		}
		return 0
	})
	return ran
}
