package decision_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/yamltest"
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
		names := *yamltest.Known[[]map[string][]string](t, text)
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
		record := *yamltest.Known[readable](t, text)
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
	read := yamltest.Decode[api.Instance](t, text)
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
