package rules

import (
	"strings"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
)

// cronJobSchedule validates spec.schedule of a CronJob with the parser that
// kube-apiserver uses.
func cronJobSchedule(r *report, s *batchv1.CronJobSpec) {
	if s.Schedule == "" {
		return // the published schema requires the field and reports it
	}
	zoned := strings.Contains(s.Schedule, "TZ")
	old, isUpdate := r.old.(*batchv1.CronJob)
	switch wasZoned := isUpdate && strings.Contains(old.Spec.Schedule, "TZ"); {
	case zoned && !wasZoned:
		r.invalid(s.Schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead", "schedule")
	case zoned && s.TimeZone != nil:
		r.invalid(s.Schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule", "schedule")
	}
	// The parser panics if no space follows the time zone, as in "TZ=UTC". With a
	// space at the end, it returns an error.
	spec := s.Schedule
	if zoned && !strings.Contains(spec, " ") {
		spec += " "
	}
	if _, err := cron.ParseStandard(spec); err != nil {
		r.invalid(s.Schedule, err.Error(), "schedule")
	}
}
