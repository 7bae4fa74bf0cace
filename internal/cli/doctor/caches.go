package doctor

import (
	"fmt"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// caches judges the audits of the caches of the server since its start.
func caches(families map[string]*dto.MetricFamily) []check {
	const name = "caches"
	if families["holdfast_cache_audit_duration_seconds"] == nil {
		return []check{{name, skipped, "the server does not audit its caches (--cache-audit-interval)", ""}}
	}
	var found []check
	for _, metric := range families["holdfast_cache_audit_differences_total"].GetMetric() {
		if differences := metric.GetCounter().GetValue(); differences > 0 {
			found = append(found, check{
				name, failure, fmt.Sprintf("%.0f entries of the cache %s were wrong, and the server has dropped the cache", differences, label(metric, "cache")),
				"the log of the server names an object (component cacheaudit): report it, and list the objects again in clients that keep them",
			})
		}
	}
	if len(found) > 0 {
		return found
	}
	entries, failures := 0.0, 0.0
	for _, metric := range families["holdfast_cache_audit_entries_total"].GetMetric() {
		if strings.EqualFold(label(metric, "result"), "same") {
			entries += metric.GetCounter().GetValue()
		}
	}
	for _, metric := range families["holdfast_cache_audit_failures_total"].GetMetric() {
		failures += metric.GetCounter().GetValue()
	}
	return []check{{Name: name, State: good, Message: fmt.Sprintf(
		"none differed from etcd in %.0f comparisons since the server started; %.0f caches could not be compared at their time", entries, failures,
	)}}
}
