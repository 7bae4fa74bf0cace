package guard_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/waittest"
)

const reportDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: PLURAL.GROUP}
spec:
  group: GROUP
  scope: Cluster
  names: {plural: PLURAL, kind: KIND}
  versions:
  - name: VERSION
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// TestReport checks that the guard writes what it guards, what it refused and what its audit found into a report of the kind that is
// installed, with the rights of its account, and that the findings are metrics.
func TestReport(t *testing.T) {
	t.Parallel()
	for _, kind := range [][]string{
		{"clusterpolicyreports", "wgpolicyk8s.io", "v1alpha2", "ClusterPolicyReport"},
		{"clusterreports", "openreports.io", "v1alpha1", "ClusterReport"},
	} {
		t.Run(kind[3], func(t *testing.T) {
			t.Parallel()
			f := start(t)
			f.account, f.edit = true, func(config *guard.Config) { config.AuditInterval = time.Second }
			f.create(definitions, strings.NewReplacer("PLURAL", kind[0], "GROUP", kind[1], "VERSION", kind[2], "KIND", kind[3]).Replace(reportDefinition))
			f.run()
			f.create("default/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}}`)
			f.policy("first", "configmaps, nodes")
			f.policy("second", "secrets")
			f.asks("default/configmaps", "c", `{data: {a: new}}`)
			for range 3 {
				if got := f.patch("default/configmaps", "c", `{data: {a: new}}`); !strings.HasPrefix(got, "BadRequest: ") {
					t.Error(got)
				}
			}
			want := []string{
				"fail first immutable data: refused an update of configmaps default/c ConfigMap/c 3",
				"fail first rule-without-effect: immutabilitypolicies/first: spec: nodes: this resource is never guarded",
				"pass first : guards configmaps",
				"pass second : guards secrets",
				"skip secrets : the guard may not list this resource: see guard.holdfast.dev/aggregate-to-reader",
			}
			waittest.Until(t, "the report", func() error {
				got, summary := f.reported(kind[0] + "." + kind[2] + "." + kind[1])
				// The guard may have counted a write that was sent again each time.
				for again := range int(f.repeated.Load()) {
					for i, line := range got {
						if before, found := strings.CutSuffix(line, fmt.Sprintf(" ConfigMap/c %d", 4+again)); found {
							got[i] = before + " ConfigMap/c 3"
						}
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					return fmt.Errorf("(-want +got):\n%s", diff)
				}
				if summary != "map[error:0 fail:2 pass:2 skip:1 warn:0]" {
					t.Errorf("summary %s", summary)
				}
				return nil
			})
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.health+"/metrics", nil)
			if err != nil {
				t.Fatal(err)
			}
			// The guards of other tests in this process have the same metrics.
			waittest.Until(t, "the metric of the finding", func() bool {
				return countOf(t, request, `holdfast_guard_findings{rule="rule-without-effect"}`) > 0
			})
		})
	}
}

// reported returns the results of the report as texts, and its summary.
func (f *fixture) reported(resource string) (results []string, summary string) {
	f.Helper()
	found, err := f.of(resource).Get(f.Context(), guard.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err.Error()
	}
	all, _, _ := unstructured.NestedSlice(found.Object, "results")
	for _, each := range all {
		one, _ := each.(map[string]any)
		rule, _ := one["rule"].(string)
		text := fmt.Sprintf("%s %s %s: %s", one["result"], one["policy"], rule, one["message"])
		if count, known, _ := unstructured.NestedString(one, "properties", "count"); known {
			objects, _, _ := unstructured.NestedSlice(one, "resources")
			object, _ := objects[0].(map[string]any)
			text += fmt.Sprintf(" %s/%s %s", object["kind"], object["name"], count)
		}
		results = append(results, text)
	}
	slices.Sort(results)
	return results, fmt.Sprint(found.Object["summary"])
}
