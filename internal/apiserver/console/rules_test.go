package console_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	rbacv1 "k8s.io/api/rbac/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/console"
	"holdfast.dev/holdfast/internal/waittest"
)

// boats is a definition with rules of every kind.
const boats = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: boats.example.com
  annotations:
    holdfast.dev/immutability: |
      immutable spec.hull while oldSelf.status.phase == "Sailing"
      no-unset spec.flag
      no-modify spec.flag unless reflag
      update=NoSet,NoUnset spec.sail
      addition-only metadata.labels
      no-delete unless scrap while oldSelf.spec.flag == "red"
spec:
  group: example.com
  names: {plural: boats, kind: Boat}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec: {type: object, properties: {hull: {type: string}, flag: {type: string}, sail: {type: string}, name: {type: string, x-kubernetes-update: [NoUnset, NoModify]}}}
          status: {type: object, properties: {phase: {type: string}}}
`

// TestRules checks why a field is locked and until when, with the conditions and rights of rules, for definitions and policies.
func TestRules(t *testing.T) {
	t.Parallel()
	const path = "/apis/example.com/v1/namespaces/default/boats"
	s := start(t, apiserver.Config{Console: true})
	s.create(t, definitions, boats)
	waittest.Until(t, "boats are served", func() bool { return s.send(t, s.admin, http.MethodGet, path).code == http.StatusOK })
	s.create(t, path, "{apiVersion: example.com/v1, kind: Boat, metadata: {name: a, labels: {dock: x}, annotations: {holdfast.dev/keep: always}}, "+
		"spec: {hull: steel, flag: red, name: Anne}}")
	s.create(t, path, "{apiVersion: example.com/v1, kind: Boat, metadata: {name: b, labels: {dock: x}}, spec: {hull: steel, flag: blue}}")
	s.write(t, http.MethodPatch, path+"/a/status", mergePatch, `{"status":{"phase":"Sailing"}}`)
	s.write(t, http.MethodPatch, path+"/b/status", mergePatch, `{"status":{"phase":"Docked"}}`)
	s.allow(t, "reader", rbacv1.PolicyRule{
		Verbs: []string{"get", "reflag", "unlock"}, APIGroups: []string{"example.com"}, Resources: []string{"boats"},
	})
	waittest.Until(t, "the reader gets the report", func() bool { return s.as(t, "reader", path+"/a").code == http.StatusOK })
	for name, spec := range map[string]string{
		"fleet":  `{resources: [boats.example.com], rules: ["immutable spec.sail", 'warn no-delete while oldSelf.spec.flag == "red"']}`,
		"filled": `{resources: [configmaps], rules: ["set-once data unless refill"]}`,
	} {
		s.create(t, "/apis/guard.holdfast.dev/v1beta1/immutabilitypolicies",
			"{apiVersion: guard.holdfast.dev/v1beta1, kind: ImmutabilityPolicy, metadata: {name: "+name+"}, spec: "+spec+"}")
	}

	const sailing, inV1 = `oldSelf.status.phase == "Sailing"`, " in version v1 of the definition"
	hull := console.Lock{
		Field: ".spec.hull", Reason: "rule", Rule: "every change is refused", Condition: console.Condition{While: sailing},
		Why: `the rule "immutable spec.hull while oldSelf.status.phase == \"Sailing\""` + inV1,
	}
	flag := console.Lock{
		Field: ".spec.flag", Reason: "rule", Rule: "replacing the value is refused", Why: `the rule "no-modify spec.flag unless reflag"` + inV1,
		Condition: console.Condition{Unless: "reflag", May: true},
	}
	report := s.as(t, "reader", path+"/a").report(t, path)
	want := []console.Lock{
		{Field: ".spec.flag", Reason: "marker", Rule: "removing it is refused", Why: "x-kubernetes-update: [NoUnset]" + inV1},
		{
			Field: ".spec.name", Reason: "marker", Rule: "it may be set once: removing and replacing the value is refused",
			Why: "x-kubernetes-update: [NoUnset, NoModify]" + inV1,
		},
		{
			Field: ".spec.sail", Reason: "marker", Rule: "setting it later and removing it is refused", Absent: true,
			Why: "x-kubernetes-update: [NoSet, NoUnset]" + inV1,
		},
		hull, flag,
		{
			Field: ".metadata.labels", Reason: "rule", Rule: "removing keys or items is refused",
			Why: `the rule "addition-only metadata.labels"` + inV1,
		},
		{
			Field: ".spec.sail", Reason: "policy", Rule: "every change is refused", Absent: true,
			Why: `the rule "immutable spec.sail" of policy fleet`,
		},
	}
	if diff := cmp.Diff(want, report.Locks); diff != "" {
		t.Errorf("locks (-want +got):\n%s", diff)
	}
	const red = `oldSelf.spec.flag == "red"`
	kept := []console.Kept{
		{Why: "the annotation holdfast.dev/keep: always", Condition: console.Condition{Unless: "unlock", May: true}},
		{Why: `the rule "no-delete while oldSelf.spec.flag == \"red\"" of policy fleet`, Warns: true, Condition: console.Condition{While: red}},
		{
			Why:       `the rule "no-delete unless scrap while oldSelf.spec.flag == \"red\"" of the definition`,
			Condition: console.Condition{While: red, Unless: "scrap"},
		},
	}
	if diff := cmp.Diff(kept, report.Kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}

	// The administrator has every right. The conditions are false for the other boat.
	report, _ = s.report(t, path+"/b")
	hull.Open = true
	rules := slices.DeleteFunc(report.Locks, func(l console.Lock) bool { return l.Reason != "rule" })
	if diff := cmp.Diff([]console.Lock{hull, flag}, rules[:2]); diff != "" {
		t.Errorf("locks of the other boat (-want +got):\n%s", diff)
	}
	for i := range kept[1:] {
		kept[i+1].Open, kept[i+1].May = true, kept[i+1].Unless != ""
	}
	if diff := cmp.Diff(kept[1:], report.Kept); diff != "" {
		t.Errorf("kept, the other boat (-want +got):\n%s", diff)
	}

	s.create(t, path, "{apiVersion: example.com/v1, kind: Boat, metadata: {name: c}, spec: {hull: steel}}")
	report, _ = s.report(t, path+"/c")
	at := slices.IndexFunc(report.Locks, func(l console.Lock) bool { return l.Field == ".spec.hull" })
	if at < 0 || report.Locks[at].Open || report.Locks[at].Unclear != "no such key: status" {
		t.Errorf("a condition that cannot be evaluated: %+v", report.Locks)
	}

	s.create(t, configMaps, "{apiVersion: v1, kind: ConfigMap, metadata: {name: filled}, data: {a: b}}")
	report, _ = s.report(t, configMaps+"/filled")
	data := []console.Lock{{
		Field: ".data", Reason: "policy", Rule: "it may be set once: removing and replacing the value is refused",
		Why: `the rule "set-once data unless refill" of policy filled`, Condition: console.Condition{Unless: "refill", May: true},
	}}
	if diff := cmp.Diff(data, report.Locks); diff != "" || len(report.Kept) > 0 {
		t.Errorf("kept %v, locks of a ConfigMap (-want +got):\n%s", report.Kept, diff)
	}

	report, body := s.report(t, definitions+"/boats.example.com")
	lines := []string{
		`immutable spec.hull while oldSelf.status.phase == "Sailing"`, "no-modify spec.flag unless reflag", "addition-only metadata.labels",
		`no-delete unless scrap while oldSelf.spec.flag == "red"`,
	}
	if diff := cmp.Diff(lines, report.Versions[0].Rules, cmpopts.EquateEmpty()); diff != "" || !strings.Contains(body, "x-kubernetes-update: [NoSet, NoUnset]") {
		t.Errorf("rules of the definition (-want +got):\n%s", diff)
	}
}
