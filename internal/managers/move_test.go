package managers_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/managers"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

// plan returns the move of the fields of managers, separated by commas, to a manager of server-side apply.
func plan(t *testing.T, text, from, to string, fields ...string) (managers.Move, []metav1.ManagedFieldsEntry) {
	t.Helper()
	given := entries(t, text)
	s := managers.Selection{To: managers.ByName(to)}
	for name := range strings.SplitSeq(from, ",") {
		s.From = append(s.From, managers.Writer{Manager: name})
	}
	for _, field := range fields {
		path, err := ownership.ParsePath(field)
		if err != nil {
			t.Fatal(err)
		}
		s.Fields = append(s.Fields, path)
	}
	move, err := s.Plan(managers.Object{Version: "apps/v1", Entries: given})
	if err != nil {
		t.Fatal(err)
	}
	return move, given
}

// TestMove moves the fields of managers, and back.
func TestMove(t *testing.T) {
	const csa, replicas = `Update kubectl-client-side-apply `, `{"f:spec":{"f:replicas":{}}}`
	tests := map[string]struct {
		entries, from, to string
		fields            []string
		want              string
	}{
		"a manager without an entry": {csa + replicas, "kubectl-client-side-apply", "kubectl", nil, "Apply kubectl " + replicas},
		"several managers": {
			csa + replicas + "\n" + `Apply ci {"f:spec":{"f:paused":{}}}`, "kubectl-client-side-apply,ci", "kubectl", nil,
			`Apply kubectl {"f:spec":{"f:paused":{},"f:replicas":{}}}`,
		},
		"a co-owned field": {
			csa + replicas + "\n" + `Apply kubectl {"f:spec":{"f:paused":{},"f:replicas":{}}}`, "kubectl-client-side-apply", "kubectl", nil,
			`Apply kubectl {"f:spec":{"f:paused":{},"f:replicas":{}}}`,
		},
		"another operation of the same manager": {"Update helm " + replicas, "helm", "helm", nil, "Apply helm " + replicas},
		"the beginning of names": {
			"Update kubectl-edit " + replicas + "\n" + `Update node {"f:spec":{"f:paused":{}}}`, "kubectl*", "flux", nil,
			`Update node {"f:spec":{"f:paused":{}}}` + "\n" + "Apply flux " + replicas,
		},
		"some fields": {
			csa + `{"f:spec":{"f:paused":{},"f:replicas":{}}}`, "kubectl-client-side-apply", "kubectl",
			[]string{".spec.paused"},
			csa + replicas + "\n" + `Apply kubectl {"f:spec":{"f:paused":{}}}`,
		},
		"a subresource stays": {"Update ci/scale " + replicas, "ci", "kubectl", nil, "Update ci/scale " + replicas},
		"a field of a subresource": {
			"Update ci/scale " + replicas, "ci", "kubectl", []string{".spec.replicas"}, "Apply kubectl " + replicas,
		},
		"the controllers stay": {
			"Update kube-controller-manager " + replicas, "kube-controller-manager", "ci", nil, "Update kube-controller-manager " + replicas,
		},
		"a field of the controllers": {
			"Update kube-controller-manager " + replicas, "kube-controller-manager", "ci", []string{".spec.replicas"}, "Apply ci " + replicas,
		},
		"a tool that updates": {csa + replicas, "kubectl-client-side-apply", "kapp", nil, "Update kapp " + replicas},
		"another manager":     {"Update ci " + replicas, "kubectl-client-side-apply", "kubectl", nil, "Update ci " + replicas},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			move, given := plan(t, test.entries, test.from, test.to, test.fields...)
			fields := managers.New(given, time.Unix(0, 0))
			if !move.Empty() {
				if err := move.Do(fields); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(test.want, linesOf(fields.Entries())); diff != "" {
				t.Errorf("moved (-want +got):\n%s", diff)
			}
			again, err := json.Marshal(move)
			if err != nil {
				t.Fatal(err)
			}
			move = managers.Move{}
			if err := json.Unmarshal(again, &move); err != nil {
				t.Fatal(err)
			}
			lost, err := move.Undo(fields)
			if err != nil || !lost.Empty() {
				t.Fatalf("undo: %v, %v", lost, err)
			}
			if diff := cmp.Diff(sorted(test.entries), sorted(linesOf(fields.Entries()))); diff != "" {
				t.Errorf("moved back (-want +got):\n%s", diff)
			}
			if lost, err = move.Undo(managers.New(given, time.Unix(0, 0))); err != nil || !lost.Empty() {
				t.Errorf("undo of an object that has not moved: %v, %v", lost, err)
			}
		})
	}
}

// TestUndoOfChangedObject checks that a move back takes only the fields that are as the move left them.
func TestUndoOfChangedObject(t *testing.T) {
	move, _ := plan(t, `Update old {"f:spec":{"f:a":{},"f:b":{},"f:c":{}}}`, "old", "new")
	for name, test := range map[string]struct{ now, want, lost string }{
		"an apply has removed a field": {
			`Apply new {"f:spec":{"f:a":{},"f:b":{}}}`, `Update old {"f:spec":{"f:a":{},"f:b":{}}}`, ".spec.c",
		},
		"the earlier manager has written again": {
			`Apply new {"f:spec":{"f:a":{},"f:b":{},"f:c":{}}}` + "\n" + `Update old {"f:spec":{"f:a":{}}}`,
			`Apply new {"f:spec":{"f:a":{}}}` + "\n" + `Update old {"f:spec":{"f:a":{},"f:b":{},"f:c":{}}}`, "",
		},
		"a third manager has taken all": {
			`Update other {"f:spec":{"f:a":{},"f:b":{},"f:c":{}}}`, `Update other {"f:spec":{"f:a":{},"f:b":{},"f:c":{}}}`, ".spec.a .spec.b .spec.c",
		},
		"the new manager has more": {
			`Apply new {"f:spec":{"f:a":{},"f:b":{},"f:c":{},"f:d":{}}}`,
			`Apply new {"f:spec":{"f:d":{}}}` + "\n" + `Update old {"f:spec":{"f:a":{},"f:b":{},"f:c":{}}}`, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			fields := managers.New(entries(t, test.now), time.Unix(0, 0))
			lost, err := move.Undo(fields)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, sorted(linesOf(fields.Entries()))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var paths []string
			lost.Iterate(func(path fieldpath.Path) { paths = append(paths, path.String()) })
			if got := strings.Join(paths, " "); got != test.lost {
				t.Errorf("lost %q, want %q", got, test.lost)
			}
		})
	}
}

// TestMoveBetweenVersions checks that a field of an entry in another version moves only if the object has it at the same path.
func TestMoveBetweenVersions(t *testing.T) {
	given := entries(t, `Update old {"f:spec":{"f:gone":{},"f:metrics":{"k:{\"name\":\"cpu\"}":{".":{},"f:name":{}}}}}`)
	given[0].APIVersion = "autoscaling/v1"
	obj := yamltest.Map(t, `{spec: {metrics: [{name: cpu}]}}`)
	s := managers.Selection{From: []managers.Writer{{Manager: "old"}}, To: managers.ByName("new")}
	for version, want := range map[string]string{
		"autoscaling/v1": `{"f:spec":{"f:gone":{},"f:metrics":{"k:{\"name\":\"cpu\"}":{".":{},"f:name":{}}}}}`,
		"autoscaling/v2": `{"f:spec":{"f:metrics":{"k:{\"name\":\"cpu\"}":{".":{},"f:name":{}}}}}`,
	} {
		move, err := s.Plan(managers.Object{
			Version: version, Entries: given, Has: func(path fieldpath.Path) bool { return managers.Has(obj, path) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := move.Gave.FieldsV1.GetRawString(); got != want || move.Gave.APIVersion != version {
			t.Errorf("%s: %s in %s", version, got, move.Gave.APIVersion)
		}
	}
}

// TestWithout checks that fields are found and removed in a copy.
func TestWithout(t *testing.T) {
	const text = `{spec: {replicas: 2, ports: [{port: 80, name: web}, {port: 81}], names: [first, second]}}`
	obj := any(yamltest.Map(t, text))
	ports := fieldpath.MakePathOrDie("spec", "ports", fieldpath.KeyByFields("port", 80))
	for name, test := range map[string]struct {
		path fieldpath.Path
		want string
	}{
		"a field":          {fieldpath.MakePathOrDie("spec", "replicas"), `{spec: {ports: [{port: 80, name: web}, {port: 81}], names: [first, second]}}`},
		"an item":          {ports, `{spec: {replicas: 2, ports: [{port: 81}], names: [first, second]}}`},
		"a field of one":   {append(ports, fieldpath.MakePathOrDie("name")...), `{spec: {replicas: 2, ports: [{port: 80}, {port: 81}], names: [first, second]}}`},
		"a field it lacks": {fieldpath.MakePathOrDie("spec", "paused"), text},
		"an item it lacks": {fieldpath.MakePathOrDie("spec", "ports", fieldpath.KeyByFields("port", 9), "name"), text},
	} {
		if diff := cmp.Diff(any(yamltest.Map(t, test.want)), managers.Without(obj, test.path)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(any(yamltest.Map(t, text)), obj); diff != "" {
		t.Errorf("the object changed (-want +got):\n%s", diff)
	}
}

// TestPresets checks that each preset names managers, and the tool whose objects it changes.
func TestPresets(t *testing.T) {
	for _, preset := range managers.Presets() {
		if preset.Name == "" || len(preset.From) == 0 || preset.To.Manager == "" || (preset.Tool == nil) != (preset.Name == "csa-to-ssa") {
			t.Errorf("%+v", preset)
		}
	}
	helm := managers.Presets()[3].Tool
	for text, want := range map[string]bool{
		`{annotations: {meta.helm.sh/release-name: web}}`: true,
		`{labels: {app: web}}`:                            false,
	} {
		obj := yamltest.Decode[metav1.ObjectMeta](t, text)
		if helm.Applies(obj) != want {
			t.Errorf("Helm applies %s: %t", text, !want)
		}
	}
	if obj := (&metav1.ObjectMeta{ManagedFields: entries(t, "Update helm {}")}); !helm.Applies(obj) {
		t.Error("Helm does not apply an object that it wrote")
	}
}

// sorted returns lines in order.
func sorted(text string) string {
	return strings.Join(slices.Sorted(strings.SplitSeq(text, "\n")), "\n")
}

// BenchmarkMove measures what the move of one object costs the client: the managed fields of a Deployment with 90 fields are
// decoded, moved and encoded.
func BenchmarkMove(b *testing.B) {
	set := fieldpath.NewSet()
	for i := range 30 {
		item := fieldpath.KeyByFields("name", string(rune('a'+i)))
		for _, field := range []string{"image", "imagePullPolicy", "name"} {
			set.Insert(fieldpath.MakePathOrDie("spec", "template", "spec", "containers", item, field))
		}
	}
	fields, err := managers.Encode(set)
	if err != nil {
		b.Fatal(err)
	}
	s := managers.Selection{From: []managers.Writer{{Manager: managers.ClientSideApply}}, To: managers.ByName("kubectl")}
	given := []metav1.ManagedFieldsEntry{
		{Manager: managers.ClientSideApply, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "apps/v1", FieldsV1: fields},
		{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "apps/v1", FieldsV1: fields},
	}
	for b.Loop() {
		move, err := s.Plan(managers.Object{Version: "apps/v1", Entries: given})
		if err != nil {
			b.Fatal(err)
		}
		moved := managers.New(given, time.Unix(0, 0))
		if err := move.Do(moved); err != nil {
			b.Fatal(err)
		}
		if _, err := json.Marshal(moved.Entries()); err != nil {
			b.Fatal(err)
		}
	}
}
