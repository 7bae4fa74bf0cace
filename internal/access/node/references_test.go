package node_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/randfill"

	"holdfast.dev/holdfast/internal/access/node"
	"holdfast.dev/holdfast/internal/references"
)

// In random pods, References finds what the rules of package references find. The rules take more than three times as long, and the server
// looks into each pod that changes.
func TestReferencesAndRules(t *testing.T) {
	t.Parallel()
	rules, _ := references.BuiltIn(schema.GroupResource{Resource: "pods"})
	typed, err := rules.Typed(&corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for seed := range int64(200) {
		pod := &corev1.Pod{}
		randfill.NewWithSeed(seed).NilChance(.2).NumElements(1, 3).Funcs(
			func(s *string, c randfill.Continue) { *s = fmt.Sprintf("name-%d", c.Intn(1000)) },
			// A volume has one source.
			func(s *corev1.VolumeSource, c randfill.Continue) {
				c.Fill(reflect.ValueOf(s).Elem().Field(c.Intn(reflect.TypeFor[corev1.VolumeSource]().NumField())).Addr().Interface())
			},
		).Fill(&pod.Spec)
		var got, want []string
		for _, object := range node.References(pod) {
			got = append(got, object.Resource+" "+object.Name)
		}
		typed.Visit(pod, func(kind references.Kind, _, name string) {
			want = append(want, strings.ToLower(kind.String())+"s "+name)
		})
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: -rules +References\n%s", seed, diff)
		}
		found += len(got)
	}
	if found < 1000 {
		t.Errorf("the pods had only %d references", found)
	}
}
