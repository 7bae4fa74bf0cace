package parameters_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/parameters"
)

// version reads an operator version from a short form. A parameter is required by
// default, as in a package.
func version(t testing.TB, text string) *parameters.Version {
	t.Helper()
	var short struct {
		Operator, Version string
		Plans             []string
		Params            []struct {
			Name, Type, Trigger string
			Default             *string
			Required            *bool
			Immutable           bool
			Enum                []string
		}
	}
	if err := yaml.UnmarshalStrict([]byte(text), &short); err != nil {
		t.Fatal(err)
	}
	v := &parameters.Version{Operator: "tok", Version: short.Version, Plans: short.Plans}
	if short.Operator != "" {
		v.Operator = short.Operator
	}
	if v.Plans == nil {
		v.Plans = []string{"deploy"}
	}
	v.Name = v.Operator + "-1.0-" + v.Version
	for _, p := range short.Params {
		v.Definitions = append(v.Definitions, parameters.Definition{
			Name: p.Name, Type: parameters.Type(p.Type), Trigger: p.Trigger, Default: p.Default,
			Required: p.Required == nil || *p.Required, Immutable: p.Immutable, Enum: p.Enum,
		})
	}
	return v
}

// answer is the part of a decision that a user sees: the values and the plan, or the
// refusals.
type answer struct {
	Values  map[string]string
	Plan    string
	Refused []string
}

func answerOf(d parameters.Decision) answer {
	if err := d.Err(); err != nil {
		return answer{Refused: strings.Split(err.Error(), "\n")}
	}
	return answer{Values: d.Values, Plan: d.Plan}
}

func check(t *testing.T, want answer, got parameters.Decision) {
	t.Helper()
	if diff := cmp.Diff(want, answerOf(got)); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
	if !got.Accepted() && got.Values != nil {
		t.Errorf("a refused request stores %v", got.Values)
	}
}

type values = map[string]string

func TestInstall(t *testing.T) {
	const tok = `{version: 0.1.0, params: [
		{name: TOKENS, default: "256", immutable: true, type: integer},
		{name: CLASS, immutable: true},
		{name: NOTE, required: false, immutable: true},
		{name: CPUS, default: 250m},
		{name: HOSTS, type: array, required: false},
		{name: MODE, default: fast, enum: [fast, safe]}]}`
	tests := map[string]struct {
		version string
		wanted  values
		want    answer
	}{
		"defaults of immutable parameters are copied, others are not": {
			wanted: values{"CLASS": "ssd"},
			want:   answer{Values: values{"CLASS": "ssd", "TOKENS": "256", "NOTE": ""}, Plan: "deploy"},
		},
		"given values": {
			wanted: values{"CLASS": "ssd", "TOKENS": "16", "CPUS": "1", "HOSTS": "[a, b]", "NOTE": "x", "MODE": "safe"},
			want: answer{
				Values: values{"CLASS": "ssd", "TOKENS": "16", "CPUS": "1", "HOSTS": "[a, b]", "NOTE": "x", "MODE": "safe"},
				Plan:   "deploy",
			},
		},
		"every refusal at once": {
			wanted: values{"TOKENS": "many", "HOSTS": "{a: b}", "MODE": "slow", "TYPO": "1", "ANOTHER": "2"},
			want: answer{Refused: []string{
				"parameter 'TOKENS' has the value 'many', which is not of type integer",
				"parameter 'CLASS' is required but no value was provided",
				"parameter 'HOSTS' has the value '{a: b}', which is not of type array",
				"parameter 'MODE' has the value 'slow', allowed are 'fast', 'safe'",
				"parameter 'ANOTHER' is unknown: operator version tok-1.0-0.1.0 has no such parameter",
				"parameter 'TYPO' is unknown: operator version tok-1.0-0.1.0 has no such parameter",
			}},
		},
		"an empty value is none": {
			wanted: values{"CLASS": ""},
			want:   answer{Refused: []string{"parameter 'CLASS' is required but no value was provided"}},
		},
		"an array or map without a default is null": {
			version: `{version: 0.1.0, params: [{name: A, type: array}, {name: B, type: map, immutable: true}]}`,
			want:    answer{Values: values{"B": "null"}, Plan: "deploy"},
		},
		"an array or map may be empty": {
			version: `{version: 0.1.0, params: [{name: A, type: array}, {name: B, type: map, immutable: true}]}`,
			wanted:  values{"A": "", "B": ""},
			want:    answer{Values: values{"A": "", "B": ""}, Plan: "deploy"},
		},
		"no plan deploy": {
			version: `{version: 0.1.0, plans: [update]}`,
			want:    answer{Refused: []string{"operator version tok-1.0-0.1.0 has no plan 'deploy'"}},
		},
		"a parameter defined twice": {
			version: `{version: 0.1.0, params: [{name: A, default: x}, {name: A, default: y, immutable: true}]}`,
			want:    answer{Refused: []string{"parameter 'A' is defined twice in operator version tok-1.0-0.1.0"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			text := test.version
			if text == "" {
				text = tok
			}
			check(t, test.want, parameters.Install(version(t, text), parameters.Request{Wanted: test.wanted}))
		})
	}
}

func TestUpdate(t *testing.T) {
	const tok = `{version: 0.1.0, plans: [deploy, update, backup, restore], params: [
		{name: TOKENS, default: "256", immutable: true},
		{name: CLASS, immutable: true},
		{name: LABELS, type: map, required: false, immutable: true},
		{name: NUM, type: integer, default: "3", immutable: true},
		{name: CPUS, default: 250m},
		{name: MEM, default: 1Gi},
		{name: SIZE, immutable: false, type: integer},
		{name: BACKUP, default: "no", trigger: backup},
		{name: RESTORE, default: "no", trigger: restore},
		{name: LOST, default: "no", trigger: lost}]}`
	stored := values{"TOKENS": "256", "CLASS": "ssd", "LABELS": "", "NUM": "3", "SIZE": "1"}
	with := func(name, text string) values {
		changed := values{name: text}
		for key, value := range stored {
			if _, given := changed[key]; !given {
				changed[key] = value
			}
		}
		return changed
	}
	without := func(name string) values {
		changed := with(name, "")
		delete(changed, name)
		return changed
	}
	tests := map[string]struct {
		stored  values // the common ones if nil
		wanted  values
		request parameters.Request
		want    answer
	}{
		"an immutable parameter gets another value": {
			wanted: with("CLASS", "hdd"),
			want:   answer{Refused: []string{"parameter 'CLASS' is immutable but was changed from 'ssd' to 'hdd'"}},
		},
		"every one is named, and the rest of the update is refused with them": {
			wanted: values{"TOKENS": "1", "CLASS": "hdd", "LABELS": "", "NUM": "3", "CPUS": "1", "SIZE": "big"},
			want: answer{Refused: []string{
				"parameter 'TOKENS' is immutable but was changed from '256' to '1'",
				"parameter 'CLASS' is immutable but was changed from 'ssd' to 'hdd'",
				"parameter 'SIZE' has the value 'big', which is not of type integer",
			}},
		},
		"KUDO's hole: the key is removed, and the default is the same": {
			wanted: without("TOKENS"),
			want:   answer{Refused: []string{"parameter 'TOKENS' is immutable but was removed (value '256')"}},
		},
		"KUDO's hole: the key is removed, and there is no default": {
			wanted: without("CLASS"),
			want:   answer{Refused: []string{"parameter 'CLASS' is immutable but was removed (value 'ssd')"}},
		},
		"the same values": {wanted: stored, want: answer{Values: stored}},
		"the same values and another one": {
			wanted: with("CPUS", "1"),
			want:   answer{Values: with("CPUS", "1"), Plan: "update"},
		},
		"an integer is the text that templates see": {
			wanted: with("NUM", "03"),
			want:   answer{Refused: []string{"parameter 'NUM' is immutable but was changed from '3' to '03'"}},
		},
		"a map is what its YAML says": {
			stored: with("LABELS", "{a: b, c: [1, 2]}"),
			wanted: with("LABELS", "c: [1, 2]\na: b\n"),
			want:   answer{Values: with("LABELS", "c: [1, 2]\na: b\n")},
		},
		"an instance stored without values gets the effective ones pinned": {
			stored: values{"CLASS": "ssd", "SIZE": "1"},
			wanted: values{"CLASS": "ssd", "SIZE": "1"},
			want:   answer{Values: with("LABELS", "null")},
		},
		"an instance stored without a value cannot leave the effective one": {
			stored: values{"CLASS": "ssd", "SIZE": "1"},
			wanted: values{"CLASS": "ssd", "SIZE": "1", "TOKENS": "1", "LABELS": "{a: b}"},
			want: answer{Refused: []string{
				"parameter 'TOKENS' is immutable but was changed from '256' to '1'",
				"parameter 'LABELS' is immutable but was changed from 'null' to '{a: b}'",
			}},
		},
		"a required value that was never there is given": {
			stored: values{"SIZE": "1"}, wanted: values{"SIZE": "1", "CLASS": "ssd"},
			want: answer{Values: with("LABELS", "null"), Plan: "update"},
		},
		"what was stored before there were rules stays": {
			stored: with("SIZE", "big"), wanted: with("SIZE", "big"),
			want: answer{Values: with("SIZE", "big")},
		},
		"a required value is removed": {
			wanted: without("SIZE"),
			want:   answer{Refused: []string{"parameter 'SIZE' is required but no value was provided"}},
		},
		"a value that is set to its default runs nothing": {
			wanted: with("CPUS", "250m"),
			want:   answer{Values: with("CPUS", "250m")},
		},
		"unknown": {
			wanted: with("TYPO", "1"),
			want:   answer{Refused: []string{"parameter 'TYPO' is unknown: operator version tok-1.0-0.1.0 has no such parameter"}},
		},
		"stored and unknown goes": {stored: with("OLD", "1"), wanted: with("OLD", "1"), want: answer{Values: stored}},
		"a trigger of its own": {
			wanted: with("BACKUP", "yes"),
			want:   answer{Values: with("BACKUP", "yes"), Plan: "backup"},
		},
		"two triggers": {
			wanted: values{"TOKENS": "256", "CLASS": "ssd", "LABELS": "", "NUM": "3", "SIZE": "1", "BACKUP": "yes", "RESTORE": "yes"},
			want: answer{Refused: []string{
				"one update runs one plan, but parameter 'BACKUP' triggers plan 'backup' and parameter 'RESTORE' triggers plan 'restore'",
			}},
		},
		"a trigger and a plan by name": {
			wanted: with("BACKUP", "yes"), request: parameters.Request{Plan: "restore"},
			want: answer{Refused: []string{
				"one update runs one plan, but the request asks for plan 'restore' and parameter 'BACKUP' triggers plan 'backup'",
			}},
		},
		"a plan by name": {
			wanted: stored, request: parameters.Request{Plan: "backup"},
			want: answer{Values: stored, Plan: "backup"},
		},
		"a plan that is not there": {
			wanted: stored, request: parameters.Request{Plan: "sing"},
			want: answer{Refused: []string{"operator version tok-1.0-0.1.0 has no plan 'sing'"}},
		},
		"a trigger that is not there": {
			wanted: with("LOST", "yes"),
			want:   answer{Refused: []string{"operator version tok-1.0-0.1.0 has no plan 'lost'"}},
		},
		"while the same plan runs": {
			wanted: with("CPUS", "1"), request: parameters.Request{Running: "update"},
			want: answer{Values: with("CPUS", "1"), Plan: "update"},
		},
		"while another plan runs": {
			wanted: with("BACKUP", "yes"), request: parameters.Request{Running: "update"},
			want: answer{Refused: []string{"plan 'update' is running: wait until it has ended"}},
		},
		"nothing changes while a plan runs": {
			wanted: stored, request: parameters.Request{Running: "update"},
			want: answer{Values: stored},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.request.Stored, test.request.Wanted = stored, test.wanted
			if test.stored != nil {
				test.request.Stored = test.stored
			}
			check(t, test.want, parameters.Update(version(t, tok), test.request))
		})
	}
}

func TestConflict(t *testing.T) {
	v := version(t, `{version: 0.1.0, plans: [deploy, backup], params: [{name: A, default: x}, {name: B, default: x, immutable: true}]}`)
	request := parameters.Request{Running: "backup", Wanted: values{"A": "y"}}
	if !parameters.Update(v, request).Conflict() {
		t.Error("an update while another plan runs is no conflict")
	}
	request.Wanted = values{"B": "y"}
	if parameters.Update(v, request).Conflict() {
		t.Error("an update that can never be accepted is a conflict")
	}
	if parameters.Update(v, parameters.Request{}).Conflict() {
		t.Error("an accepted update is a conflict")
	}
}
