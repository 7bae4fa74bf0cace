package decision_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/operator/decision"
)

// write is one write of an Instance by a user.
type write struct {
	by     string
	values map[string]string
	// takeOver are the parameters that the user takes over.
	takeOver []string
	// inherits are the authors that the controller passes, for the values of the write.
	inherits map[string][]string
	// sealedFor is the user that the controller seals them for, by if it is empty.
	sealedFor string
	// failed means that the last run ended with FatalError before the write.
	failed bool
	want   map[string][]string
	plan   string
}

// TestAuthors makes writes one after the other, and checks the authors and the plan after
// each.
func TestAuthors(t *testing.T) {
	type values = map[string]string
	type names = map[string][]string
	tests := map[string][]write{
		"each value has the user that set it last": {
			{by: "jane", values: values{"CPUS": "2"}, want: names{"CPUS": {"jane"}}, plan: "deploy"},
			{by: "root", values: values{"CPUS": "2", "LATER": "b"}, want: names{"CPUS": {"jane"}, "LATER": {"root"}}, plan: "deploy"},
			{by: "root", values: values{"CPUS": "3", "LATER": "b"}, want: names{"CPUS": {"root"}, "LATER": {"root"}}, plan: "deploy"},
			{by: "jane", values: values{"CPUS": "1"}, want: names{}, plan: "deploy"},
		},
		"a value is taken over": {
			{by: "jane", values: values{"CPUS": "2", "LATER": "b"}, want: names{"CPUS": {"jane"}, "LATER": {"jane"}}, plan: "deploy"},
			{
				by: "root", values: values{"CPUS": "2", "LATER": "b"}, takeOver: []string{"CPUS", "KEEP"},
				want: names{"CPUS": {"root"}, "LATER": {"jane"}},
			},
			{by: "root", values: values{"CPUS": "2", "LATER": "b"}, want: names{"CPUS": {"root"}, "LATER": {"jane"}}},
		},
		"a failed plan runs again when a value is taken over": {
			{by: "jane", values: values{"CPUS": "2"}, want: names{"CPUS": {"jane"}}, plan: "deploy"},
			{by: "root", values: values{"CPUS": "2"}, failed: true, want: names{"CPUS": {"jane"}}},
			{by: "root", values: values{"CPUS": "2"}, failed: true, takeOver: []string{"CPUS"}, want: names{"CPUS": {"root"}}, plan: "deploy"},
		},
		"authors are inherited": {
			{
				by: "root", values: values{"CPUS": "2", "LATER": "b"}, inherits: names{"": {"jane"}, "CPUS": {"jane"}},
				want: names{"": {"jane"}, "CPUS": {"root", "jane"}, "LATER": {"root"}}, plan: "deploy",
			},
			// A write by another user changes nothing about them.
			{
				by: "jane", values: values{"CPUS": "2", "LATER": "c"},
				want: names{"": {"jane"}, "CPUS": {"root", "jane"}, "LATER": {"jane"}}, plan: "deploy",
			},
			// Other authors of the same values run a failed plan again.
			{
				by: "root", values: values{"CPUS": "2", "LATER": "c"}, failed: true, inherits: names{},
				want: names{"CPUS": {"root"}, "LATER": {"root"}}, plan: "deploy",
			},
			{by: "root", values: values{"CPUS": "2", "LATER": "c"}, failed: true, want: names{"CPUS": {"root"}, "LATER": {"root"}}},
		},
		"a value that a client changed and the controller changes back": {
			{by: "root", values: values{"CPUS": "2"}, inherits: names{"CPUS": {"jane"}}, want: names{"CPUS": {"root", "jane"}}, plan: "deploy"},
			{by: "root", values: values{"CPUS": "3"}, want: names{"CPUS": {"root"}}, plan: "deploy"},
			{by: "root", values: values{"CPUS": "2"}, inherits: names{"CPUS": {"jane"}}, want: names{"CPUS": {"root", "jane"}}, plan: "deploy"},
		},
		"authors that are sealed for another user": {
			{
				by: "root", values: values{"CPUS": "2"}, inherits: names{}, sealedFor: "jane",
				want: names{"": {""}, "CPUS": {"root", ""}}, plan: "deploy",
			},
		},
	}
	for name, writes := range tests {
		t.Run(name, func(t *testing.T) {
			var stored *api.Instance
			for i, each := range writes {
				plan, result := each.judge(t, stored)
				record, err := keys.Record(t.Context(), result)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(each.want, named(record.Authors)); diff != "" {
					t.Errorf("write %d: authors (-want +got):\n%s", i, diff)
				}
				if plan != each.plan {
					t.Errorf("write %d: plan %q", i, plan)
				}
				if _, found := result.Annotations[api.TakeOverAnnotation]; found {
					t.Errorf("write %d: the annotation is stored", i)
				}
				stored = result
			}
		})
	}
}

// judge returns the plan that the write starts, and the Instance that is stored.
func (w write) judge(t *testing.T, stored *api.Instance) (string, *api.Instance) {
	t.Helper()
	sent := instance(t, fresh)
	if stored != nil {
		sent = stored.DeepCopy()
		state := api.Complete
		if w.failed {
			state = api.FatalError
		}
		// The controller has ended the last run.
		stored.Status.PlanStatus = map[string]api.PlanStatus{"deploy": {UID: stored.Spec.PlanExecution.UID, Status: state}}
	}
	sent.Spec.Parameters = maps.Clone(w.values)
	if w.inherits != nil {
		inherited := authorship.Inherited{Writer: w.by, Authors: identified(w.inherits)}
		if w.sealedFor != "" {
			inherited.Writer = w.sealedFor
		}
		if err := keys.SetInherited(t.Context(), sent, inherited); err != nil {
			t.Fatal(err)
		}
	}
	sent.Spec.Parameters["TOKENS"] = "256"
	if w.takeOver != nil {
		if err := api.RequestTakeOver(sent, w.takeOver); err != nil {
			t.Fatal(err)
		}
	}
	uid := types.UID("first")
	if stored != nil {
		uid = stored.Spec.PlanExecution.UID + "+"
	}
	result, err := decision.Review{
		Old: stored, New: sent, Requester: users[w.by], Keys: keys, Version: find, NewUID: func() types.UID { return uid },
	}.Decide(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := result.Decision.Err(); err != nil {
		t.Fatal(err)
	}
	return result.Decision.Plan, result.Instance
}
