package admission_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/operator/admission"
	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/operator/authorship"
)

var versions = map[string]string{
	"tok-0.1.0": `{version: 0.1.0, operator: {name: tok}, plans: {deploy: {}, backup: {}, cleanup: {}},
		parameters: [{name: TOKENS, default: "256", immutable: true}, {name: LATER, default: a}, {name: CPUS, default: "1"},
			{name: KEEP, default: none, trigger: cleanup}]}`,
	"tok-0.2.0": `{version: 0.2.0, operator: {name: tok}, plans: {deploy: {}, upgrade: {}},
		parameters: [{name: TOKENS, default: "1", immutable: true}, {name: LATER, default: a, immutable: true},
			{name: NEW, default: d, immutable: true}, {name: CPUS, default: "1"}]}`,
}

// find returns one of the OperatorVersions above, nil if there is none.
func find(name string) (*api.OperatorVersion, error) {
	text, found := versions[name]
	if !found {
		return nil, nil
	}
	version := &api.OperatorVersion{}
	version.Name = name
	return version, yaml.UnmarshalStrict([]byte(text), &version.Spec)
}

var keys = authorship.NewKeyring(func(context.Context) ([][]byte, error) {
	return [][]byte{make([]byte, authorship.KeySize)}, nil
})

// users are the users of the tests, by name. The one without a name is not known.
var users = map[string]authorship.User{
	"jane": {Username: "jane", Groups: []string{"dev"}}, "root": {Username: "root"}, "": {},
	"server": {Username: "system:apiserver", Groups: []string{"system:masters"}},
}

// readable is the text of a sealed record in a test. The texts of records and histories are
// in the annotations "record" and "history".
type readable struct {
	Username string              `json:"username"`
	Authors  map[string][]string `json:"authors,omitempty"`
	Deletion bool                `json:"deletion,omitempty"`
}

func named(authors authorship.Authors) map[string][]string {
	all := map[string][]string{}
	for name, list := range authors {
		for _, one := range list {
			all[name] = append(all[name], one.Username)
		}
	}
	return all
}

func identified(names map[string][]string) authorship.Authors {
	all := authorship.Authors{}
	for name, list := range names {
		for _, one := range list {
			all[name] = append(all[name], users[one])
		}
	}
	return all
}

// seal replaces the readable records of an Instance by sealed ones.
func seal(t *testing.T, object *api.Instance) *api.Instance {
	t.Helper()
	if text, found := object.Annotations["history"]; found {
		var names []map[string][]string
		if err := json.Unmarshal([]byte(text), &names); err != nil {
			t.Fatal(err)
		}
		var history []authorship.Authors
		for _, each := range names {
			history = append(history, identified(each))
		}
		delete(object.Annotations, "history")
		if err := keys.SetHistory(t.Context(), object, history); err != nil {
			t.Fatal(err)
		}
	}
	if text, found := object.Annotations["record"]; found {
		var record readable
		if err := json.Unmarshal([]byte(text), &record); err != nil {
			t.Fatal(err)
		}
		delete(object.Annotations, "record")
		err := keys.SetRecord(t.Context(), object, authorship.Record{
			Requester: users[record.Username], Authors: identified(record.Authors), Deletion: record.Deletion, Instance: object.UID,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return object
}

// open replaces the sealed records of an Instance by readable ones.
func open(t *testing.T, object *api.Instance) *api.Instance {
	t.Helper()
	if object == nil {
		return nil
	}
	object = object.DeepCopy()
	set := func(annotation string, content any) {
		text, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		api.SetAnnotation(object, annotation, string(text))
	}
	record, err := keys.Record(t.Context(), object)
	history, historyErr := keys.History(t.Context(), object)
	if err == nil {
		if diff := cmp.Diff(users[record.Requester.Username], record.Requester); diff != "" {
			t.Errorf("requester (-want +got):\n%s", diff)
		}
		set("record", readable{Username: record.Requester.Username, Authors: named(record.Authors), Deletion: record.Deletion})
		delete(object.Annotations, api.RequesterAnnotation)
		delete(object.Annotations, api.SealedRecordAnnotation)
	}
	if historyErr == nil {
		var names []map[string][]string
		for _, each := range history {
			names = append(names, named(each))
		}
		set("history", names)
		delete(object.Annotations, api.SealedHistoryAnnotation)
	}
	return object
}

// instance decodes an Instance. The words FIRST and SECOND stand for the digests of the
// two OperatorVersions.
func instance(t *testing.T, text string) *api.Instance {
	t.Helper()
	if text == "" {
		return nil
	}
	for place, name := range map[string]string{"FIRST": "tok-0.1.0", "SECOND": "tok-0.2.0"} {
		version, err := find(name)
		if err != nil {
			t.Fatal(err)
		}
		binding, err := version.Binding()
		if err != nil {
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, place, binding.Digest)
	}
	read := &api.Instance{}
	if err := yaml.UnmarshalStrict([]byte(text), read); err != nil {
		t.Fatal(err)
	}
	return read
}

const (
	root     = `record: '{"username":"root","authors":{"TOKENS":["root"]}}'`
	cleaning = `record: '{"username":"root","authors":{"TOKENS":["root"]},"deletion":true}'`
	jane     = `record: '{"username":"jane","authors":{"TOKENS":["root"]}}', ` + boundFirst
	janeCPUs = `record: '{"username":"jane","authors":{"CPUS":["jane"],"TOKENS":["root"]}}', ` + boundFirst
	first    = `record: '{"username":"jane"}', ` + boundFirst
	// forged are annotations of a client.
	forged = `holdfast.dev/requested-by: '{"username":"root","groups":["system:masters"]}', holdfast.dev/sealed-record: v1.a.b`
	// recorded is the record of an upgrade, with the authors of its values.
	recorded     = recordedOnly + `, history: '[{"TOKENS":["root"]}]'`
	recordedOnly = `holdfast.dev/recorded-parameters: '[{"operatorVersion":"tok-0.1.0","parameters":{"TOKENS":"8"}}]'`

	// boundFirst and boundSecond bind to the current content of the two versions,
	// boundOther to another content of the first.
	boundFirst  = `holdfast.dev/judged-with: '{"operatorVersion":"tok-0.1.0","digest":"FIRST"}'`
	boundSecond = `holdfast.dev/judged-with: '{"operatorVersion":"tok-0.2.0","digest":"SECOND"}'`
	boundOther  = `holdfast.dev/judged-with: '{"operatorVersion":"tok-0.1.0","digest":"sha256:0"}'`

	fresh   = `{spec: {operatorVersion: {name: tok-0.1.0}}}`
	stored  = `{metadata: {annotations: {` + root + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`
	running = `{metadata: {annotations: {` + root + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"},
				planExecution: {planName: deploy, uid: a}},
		status: {planStatus: {deploy: {uid: a, status: IN_PROGRESS}}}}`
	ended = `{metadata: {annotations: {` + root + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"},
				planExecution: {planName: deploy, uid: a}},
		status: {planStatus: {deploy: {uid: a, status: COMPLETE}}}}`
	upgraded = `{metadata: {annotations: {` + root + `, ` + recorded + `}},
				spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8", LATER: b, NEW: d}}}`
)

func TestReview(t *testing.T) {
	tests := map[string]struct {
		old, new, want string
		// by is the user that makes the write; "" means jane.
		by       string
		refused  []string
		conflict bool
	}{
		"install: defaults of immutable parameters are stored, deploy runs, the user is recorded": {
			new: `{metadata: {annotations: {a: b}},
				spec: {operatorVersion: {name: tok-0.1.0},
				planExecution: {planName: backup, uid: mine, status: COMPLETE}}}`,
			want: `{metadata: {annotations: {a: b, ` + first + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "256"},
				planExecution: {planName: deploy, uid: new}}}`,
		},
		"install: a client cannot set the annotations of admission": {
			new: `{metadata: {annotations: {` + forged + `, ` + recordedOnly + `, holdfast.dev/sealed-history: x, holdfast.dev/rollback-to: x}},
				spec: {operatorVersion: {name: tok-0.1.0}}}`,
			want: `{metadata: {annotations: {` + first + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "256"},
				planExecution: {planName: deploy, uid: new}}}`,
		},
		"install: unknown version": {
			new: `{spec: {operatorVersion: {name: gone}}}`, refused: []string{"operator version gone does not exist"},
		},
		"install: another namespace": {
			new:     `{metadata: {namespace: a}, spec: {operatorVersion: {name: tok-0.1.0, namespace: b}}}`,
			refused: []string{`operator version b/tok-0.1.0 is in another namespace: user "jane" must be allowed to get it there`},
		},
		"install: no version": {
			new: `{spec: {parameters: {TOKENS: "8"}}}`, refused: []string{"operatorVersion.name is required"},
		},
		"update: an immutable value changed": {
			old: stored, new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "9"}}}`,
			refused: []string{"parameter 'TOKENS' is immutable but was changed from '8' to '9'"},
		},
		"update: an immutable value removed": {
			old: stored, new: fresh, refused: []string{"parameter 'TOKENS' is immutable but was removed (value '8')"},
		},
		"update: the plan runs with the rights of the user that changes a value": {
			old: stored,
			new: `{metadata: {annotations: {` + forged + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "2"}}}`,
			want: `{metadata: {annotations: {` + janeCPUs + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "2"},
				planExecution: {planName: deploy, uid: new}}}`,
		},
		"update: without a plan the stored requester stays": {
			old: stored, new: `{metadata: {labels: {a: b}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			want: `{metadata: {labels: {a: b}, annotations: {` + root + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
		},
		"update: the default of an immutable parameter without a stored value is stored": {
			old: fresh, new: fresh, want: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "256"}}}`,
		},
		"update: a plan by name": {
			old: stored, new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}, planExecution: {planName: backup}}}`,
			want: `{metadata: {annotations: {` + jane + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"},
				planExecution: {planName: backup, uid: new}}}`,
		},
		"update: cleanup by name": {
			old: stored, new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}, planExecution: {planName: cleanup}}}`,
			refused: []string{"plan 'cleanup' runs when the instance is deleted"},
		},
		"update: cleanup of a deleted instance keeps the last requester": {
			old: running,
			new: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"},
				planExecution: {planName: cleanup}}}`,
			want: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", annotations: {` + cleaning + `, ` + boundFirst + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"},
				planExecution: {planName: cleanup, uid: new}}}`,
		},
		"update: cleanup with another value has the user that changes it as requester": {
			old: `{metadata: {annotations: {` + root + `, ` + boundOther + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			new: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", KEEP: all},
				planExecution: {planName: cleanup}}}`,
			want: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", annotations: {
				record: '{"username":"jane","authors":{"KEEP":["jane"],"TOKENS":["root"]}}', ` + boundFirst + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", KEEP: all},
				planExecution: {planName: cleanup, uid: new}}}`,
		},
		"update: cleanup keeps the binding of the last requester": {
			old: `{metadata: {annotations: {` + root + `, ` + boundOther + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			new: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"},
				planExecution: {planName: cleanup}}}`,
			want: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", annotations: {` + cleaning + `, ` + boundOther + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"},
				planExecution: {planName: cleanup, uid: new}}}`,
		},
		"update: without a plan the stored binding stays": {
			old: `{metadata: {annotations: {` + root + `, ` + boundOther + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			new: `{metadata: {annotations: {` + boundFirst + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			want: `{metadata: {annotations: {` + root + `, ` + boundOther + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
		},
		"update: a new run is bound to the current content": {
			old: `{metadata: {annotations: {` + root + `, ` + boundOther + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			new: `{metadata: {annotations: {` + boundOther + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "2"}}}`,
			want: `{metadata: {annotations: {` + janeCPUs + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "2"},
				planExecution: {planName: deploy, uid: new}}}`,
		},
		"update: another plan while one runs": {
			old: running, new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}, planExecution: {planName: backup}}}`,
			refused: []string{"plan 'deploy' is running: wait until it has ended"}, conflict: true,
		},
		"update: the same plan is restarted": {
			old: running,
			new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "3"},
				planExecution: {planName: deploy, uid: a}}}`,
			want: `{metadata: {annotations: {` + janeCPUs + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "3"},
				planExecution: {planName: deploy, uid: new}}}`,
		},
		"update: a client cannot stop a running plan": {
			old: running, new: stored,
			want: `{metadata: {annotations: {` + root + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"},
				planExecution: {planName: deploy, uid: a}}}`,
		},
		"update: a plan that has ended can be cleared": {
			old: ended, new: stored, want: stored,
		},
		"update: the version is gone, only a label changes": {
			old: `{spec: {operatorVersion: {name: gone}, parameters: {A: b}}}`,
			new: `{metadata: {labels: {a: b}},
				spec: {operatorVersion: {name: gone}, parameters: {A: b}}}`,
			want: `{metadata: {labels: {a: b}}, spec: {operatorVersion: {name: gone}, parameters: {A: b}}}`,
		},
		"update: the version is gone, a value changes": {
			old: `{spec: {operatorVersion: {name: gone}}}`, new: `{spec: {operatorVersion: {name: gone}, parameters: {A: b}}}`,
			refused: []string{"operator version gone does not exist"},
		},
		"upgrade: without consent": {
			old: stored, new: `{spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8"}}}`,
			refused: []string{
				"parameter 'LATER' was changed to immutable in operator version 0.2.0 but no value was provided",
				"parameter 'NEW' was added in operator version 0.2.0, but no value was provided (default would be d)",
			},
		},
		"upgrade: consent for another version": {
			old: stored,
			new: `{metadata: {annotations: {holdfast.dev/given-parameters: '{"operatorVersion":"tok-0.3.0","names":["LATER","NEW"]}'}},
				spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8"}}}`,
			refused: []string{
				"parameter 'LATER' was changed to immutable in operator version 0.2.0 but no value was provided",
				"parameter 'NEW' was added in operator version 0.2.0, but no value was provided (default would be d)",
			},
		},
		"upgrade: with consent, the earlier version is recorded": {
			old: stored,
			new: `{metadata: {annotations: {holdfast.dev/given-parameters: '{"operatorVersion":"tok-0.2.0","names":["LATER","NEW"]}'}},
				spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8"}}}`,
			want: `{metadata: {annotations: {holdfast.dev/given-parameters: '{"operatorVersion":"tok-0.2.0","names":["LATER","NEW"]}',
				record: '{"username":"jane","authors":{"TOKENS":["root"]}}', ` + boundSecond + `, ` + recorded + `}},
				spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8", LATER: a, NEW: d}, planExecution: {planName: upgrade, uid: new}}}`,
		},
		"upgrade: while a plan runs": {
			old: running,
			new: `{spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8", LATER: b, NEW: d},
				planExecution: {planName: deploy, uid: a}}}`,
			refused: []string{"plan 'deploy' is running: wait until it has ended"}, conflict: true,
		},
		"a lower version": {
			old: upgraded, new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			refused: []string{"operator version tok-0.1.0 is lower than tok-0.2.0: an upgrade goes to a higher one (version 0.1.0 after 0.2.0)"},
		},
		"rollback": {
			old: upgraded,
			new: `{metadata: {annotations: {holdfast.dev/rollback-to: tok-0.1.0}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", LATER: b, NEW: d}}}`,
			want: `{metadata: {annotations: {` + jane + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"},
				planExecution: {planName: deploy, uid: new}}}`,
		},
		"authors: a value that is set again has the user that sets it as its author": {
			old: `{metadata: {annotations: {record: '{"username":"root","authors":{"CPUS":["root"],"KEEP":["root"],"TOKENS":["root"]}}'}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "2", KEEP: all}}}`,
			new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "3", KEEP: all}}}`,
			want: `{metadata: {annotations: {
				record: '{"username":"jane","authors":{"CPUS":["jane"],"KEEP":["root"],"TOKENS":["root"]}}', ` + boundFirst + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "3", KEEP: all},
				planExecution: {planName: deploy, uid: new}}}`,
		},
		"authors: the default has none, a removed value has none": {
			old: `{metadata: {annotations: {record: '{"username":"root","authors":{"CPUS":["root"],"LATER":["root"],"TOKENS":["root"]}}'}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "2", LATER: b}}}`,
			new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "1"}}}`,
			want: `{metadata: {annotations: {` + jane + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "1"},
				planExecution: {planName: deploy, uid: new}}}`,
		},
		"authors: not known if the stored record does not verify": {
			old: `{metadata: {annotations: {` + forged + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", LATER: a}}}`,
			new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", LATER: a, CPUS: "2"}}}`,
			want: `{metadata: {annotations: {record: '{"username":"jane","authors":{"CPUS":["jane"],"TOKENS":[""]}}', ` + boundFirst + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", LATER: a, CPUS: "2"},
				planExecution: {planName: deploy, uid: new}}}`,
		},
		"authors: a forged record stays as it is while no plan runs": {
			old: `{metadata: {annotations: {` + forged + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			new: `{metadata: {labels: {a: b}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			want: `{metadata: {labels: {a: b}, annotations: {` + forged + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
		},
		"authors: a rollback to values with a forged history": {
			old: `{metadata: {annotations: {` + root + `, ` + recordedOnly + `, holdfast.dev/sealed-history: v1.a.b}},
				spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8", LATER: b, NEW: d}}}`,
			new: `{metadata: {annotations: {holdfast.dev/rollback-to: tok-0.1.0}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", LATER: b, NEW: d}}}`,
			want: `{metadata: {annotations: {` + jane + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}, planExecution: {planName: deploy, uid: new}}}`,
		},
		"authors: a rollback restores values with their authors": {
			old: `{metadata: {annotations: {` + root + `, history: '[{"CPUS":["root"],"KEEP":[""]}]',
				holdfast.dev/recorded-parameters: '[{"operatorVersion":"tok-0.1.0","parameters":{"TOKENS":"8","CPUS":"4","KEEP":"all"}}]'}},
				spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8", LATER: b, NEW: d, CPUS: "5"}}}`,
			new: `{metadata: {annotations: {holdfast.dev/rollback-to: tok-0.1.0}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", LATER: b, NEW: d, CPUS: "5"}}}`,
			want: `{metadata: {annotations: {
				record: '{"username":"jane","authors":{"CPUS":["root"],"KEEP":[""],"TOKENS":["root"]}}', ` + boundFirst + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "4", KEEP: all},
				planExecution: {planName: deploy, uid: new}}}`,
		},
		"the server: an instance that it creates has no record": {
			by: "server", new: fresh,
			want: `{metadata: {annotations: {` + boundFirst + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "256"}, planExecution: {planName: deploy, uid: new}}}`,
		},
		"the server: its write keeps the record": {
			by: "server", old: stored,
			new: `{metadata: {labels: {a: b}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			want: `{metadata: {labels: {a: b}, annotations: {` + root + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
		},
		"rollback: to records that a client made up": {
			old: `{spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8", LATER: b, NEW: d}}}`,
			new: `{metadata: {annotations: {holdfast.dev/rollback-to: tok-0.1.0, ` + recordedOnly + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", LATER: b, NEW: d}}}`,
			refused: []string{
				"parameter 'TOKENS' is immutable but was changed from '8' to '256'",
				"no values are recorded for operator version tok-0.1.0: there is nothing to roll back to",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			review := admission.Review{
				Old: instance(t, test.old), New: instance(t, test.new), Requester: users["jane"], Keys: keys,
				NewUID: func() types.UID { return "new" }, Version: find,
				MayGet: func(string) (bool, error) { return false, nil },
			}
			if test.by != "" {
				review.Requester = users[test.by]
			}
			if review.Old != nil {
				seal(t, review.Old)
			}
			argument := review.New.DeepCopy()
			result, err := review.Decide(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var refused []string
			if err := result.Decision.Err(); err != nil {
				refused = strings.Split(err.Error(), "\n")
			}
			if diff := cmp.Diff(test.refused, refused); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
			if got := result.Decision.Conflict(); got != test.conflict {
				t.Errorf("conflict %t", got)
			}
			if diff := cmp.Diff(instance(t, test.want), open(t, result.Instance)); diff != "" {
				t.Errorf("instance (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(argument, review.New); diff != "" {
				t.Errorf("the argument was modified (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReviewUnreadableAnnotation(t *testing.T) {
	review := admission.Review{
		Keys: keys,
		Old:  seal(t, instance(t, stored)),
		New:  instance(t, `{metadata: {annotations: {holdfast.dev/given-parameters: LATER}}, spec: {operatorVersion: {name: tok-0.2.0}}}`),
		Version: func(name string) (*api.OperatorVersion, error) {
			version := &api.OperatorVersion{}
			version.Name = name
			return version, nil
		},
	}
	_, err := review.Decide(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "metadata.annotations[holdfast.dev/given-parameters]: ") {
		t.Errorf("got %v", err)
	}
}

// TestServerStartsNoRun checks that a run which a write of the server starts has no record
// that verifies.
func TestServerStartsNoRun(t *testing.T) {
	review := admission.Review{
		Old: seal(t, instance(t, stored)), Requester: users["server"], Keys: keys, Version: find,
		New:    instance(t, `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "9"}}}`),
		NewUID: func() types.UID { return "new" },
	}
	result, err := review.Decide(t.Context())
	if err != nil || result.Instance == nil {
		t.Fatalf("%+v, %v", result.Decision, err)
	}
	if record, err := keys.Record(t.Context(), result.Instance); err == nil {
		t.Errorf("the record is %+v", record)
	}
}
