package rules

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

func cronJobSchedule(r *report, s *batchv1.CronJobSpec) {
	if s.Schedule == "" {
		return // required, said elsewhere
	}
	zoned := strings.Contains(s.Schedule, "TZ")
	switch {
	case zoned && s.TimeZone != nil:
		r.invalid(s.Schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule", "schedule")
		return
	case zoned && r.create:
		r.invalid(s.Schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead", "schedule")
		return
	}
	if err := parseSchedule(s.Schedule); err != nil {
		r.invalid(s.Schedule, err.Error(), "schedule")
	}
}

// cronField is one of the five fields of a schedule.
type cronField struct {
	low, high int
	names     []string // of the values from low on
}

var cronFields = []cronField{
	{0, 59, nil},
	{0, 23, nil},
	{1, 31, nil},
	{1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{0, 6, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// parseSchedule tells what is wrong with a schedule: five fields, or a descriptor such as @daily or @every 1h30m. Older
// objects may start with a time zone.
func parseSchedule(s string) error {
	if strings.HasPrefix(s, "TZ=") || strings.HasPrefix(s, "CRON_TZ=") {
		prefix, rest, _ := strings.Cut(s, " ")
		_, zone, _ := strings.Cut(prefix, "=")
		if _, err := time.LoadLocation(zone); err != nil {
			return fmt.Errorf("provided bad location %s: %w", zone, err)
		}
		s = strings.TrimSpace(rest)
	}
	if strings.HasPrefix(s, "@") {
		return parseDescriptor(s)
	}
	fields := strings.Fields(s)
	if len(fields) != len(cronFields) {
		return fmt.Errorf("expected exactly %d fields, found %d: %v", len(cronFields), len(fields), fields)
	}
	for i, f := range fields {
		for part := range strings.FieldsFuncSeq(f, func(c rune) bool { return c == ',' }) {
			if err := cronFields[i].parse(part); err != nil {
				return err
			}
		}
	}
	return nil
}

func parseDescriptor(s string) error {
	switch s {
	case "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly":
		return nil
	}
	every, ok := strings.CutPrefix(s, "@every ")
	if !ok {
		return fmt.Errorf("unrecognized descriptor: %s", s)
	}
	if _, err := time.ParseDuration(every); err != nil {
		return fmt.Errorf("failed to parse duration %s: %w", s, err)
	}
	return nil
}

// parse reads one element of a field's list: *, a value, a range, each with an optional step.
func (f cronField) parse(s string) error {
	span, step, stepped := strings.Cut(s, "/")
	low, high, ranged := strings.Cut(span, "-")
	if strings.Contains(step, "/") {
		return fmt.Errorf("too many slashes: %s", s)
	}
	if strings.Contains(high, "-") {
		return fmt.Errorf("too many hyphens: %s", s)
	}
	first, last := f.low, f.high
	if low != "*" && low != "?" {
		var err error
		if first, err = f.value(low); err != nil {
			return err
		}
		switch {
		case ranged:
			if last, err = f.value(high); err != nil {
				return err
			}
		case !stepped:
			last = first
		}
	}
	if stepped {
		n, err := number32(step)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("step of range should be a positive number: %s", s)
		}
	}
	switch {
	case first < f.low:
		return fmt.Errorf("beginning of range (%d) below minimum (%d): %s", first, f.low, s)
	case last > f.high:
		return fmt.Errorf("end of range (%d) above maximum (%d): %s", last, f.high, s)
	case first > last:
		return fmt.Errorf("beginning of range (%d) beyond end of range (%d): %s", first, last, s)
	}
	return nil
}

func (f cronField) value(s string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(name, s) {
			return f.low + i, nil
		}
	}
	return number32(s)
}

func number32(s string) (int, error) {
	n, err := strconv.Atoi(s)
	switch {
	case err != nil:
		return 0, fmt.Errorf("failed to parse int from %s: %w", s, err)
	case n < 0:
		return 0, fmt.Errorf("negative number (%d) not allowed: %s", n, s)
	case n > math.MaxInt32:
		return 0, fmt.Errorf("value out of range: %s", s)
	}
	return n, nil
}
