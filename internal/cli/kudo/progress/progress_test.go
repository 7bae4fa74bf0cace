package progress_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/cli/kudo/progress"
)

// plan returns the status of a plan with two phases, in these states.
func plan(state, first, second api.State, message string) api.PlanStatus {
	return api.PlanStatus{Name: "deploy", Status: state, Phases: []api.PhaseStatus{
		{Name: "disk", Status: first, Steps: []api.StepStatus{{Name: "make", Status: first}}},
		{Name: "app", Status: second, Steps: []api.StepStatus{
			{Name: "config", Status: second}, {Name: "set", Status: second, Message: message},
		}},
	}}
}

var run = []api.PlanStatus{
	plan(api.InProgress, api.InProgress, api.Pending, ""),
	plan(api.InProgress, api.Complete, api.Error, "waits for\nStatefulSet z"),
	plan(api.InProgress, api.Complete, api.Error, "waits for\nStatefulSet z"),
	plan(api.Complete, api.Complete, api.Complete, ""),
}

func TestTree(t *testing.T) {
	want := `deploy [IN_PROGRESS]
├── disk [COMPLETE]
│   └── make [COMPLETE]
└── app [ERROR]
    ├── config [ERROR]
    └── set [ERROR] waits for StatefulSet z`
	if diff := cmp.Diff(want, strings.Join(progress.Tree(run[1]), "\n")); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

// TestLines checks that only changes are printed.
func TestLines(t *testing.T) {
	want := `deploy/disk/make [IN_PROGRESS]
deploy/disk [IN_PROGRESS]
deploy/app/config [PENDING]
deploy/app/set [PENDING]
deploy/app [PENDING]
deploy [IN_PROGRESS]
deploy/disk/make [COMPLETE]
deploy/disk [COMPLETE]
deploy/app/config [ERROR]
deploy/app/set [ERROR] waits for StatefulSet z
deploy/app [ERROR]
deploy/app/config [COMPLETE]
deploy/app/set [COMPLETE]
deploy/app [COMPLETE]
deploy [COMPLETE]
`
	var out bytes.Buffer
	show := progress.New(&out)
	for _, status := range run {
		if err := show(status); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// TestLive checks that each tree is drawn over the previous one.
func TestLive(t *testing.T) {
	var out bytes.Buffer
	show := progress.Live(&out, func() int { return 26 })
	for _, status := range run[1:3] {
		if err := show(status); err != nil {
			t.Fatal(err)
		}
	}
	tree := `deploy [IN_PROGRESS]
├── disk [COMPLETE]
│   └── make [COMPLETE]
└── app [ERROR]
    ├── config [ERROR]
    └── set [ERROR] wait…
`
	if diff := cmp.Diff(tree+"\x1b[6A\x1b[J"+tree, out.String()); diff != "" {
		t.Errorf("drawings (-want +got):\n%s", diff)
	}
}
