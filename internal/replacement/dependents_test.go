package replacement_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/replacement"
)

func TestParseDependents(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":                                    "",
		"propagationPolicy=Background":        "",
		"propagationPolicy=Orphan":            "orphan",
		"propagationPolicy=Orphan&adopt=0":    "orphan",
		"propagationPolicy=Orphan&adopt=true": "adopt",
		"adopt=false":                         "",
		"adopt=true":                          "error: adopt=true needs propagationPolicy=Orphan",
		"propagationPolicy=Background&adopt=true":  "error: adopt=true needs propagationPolicy=Orphan",
		"propagationPolicy=Foreground":             "error: propagationPolicy=Foreground: a replacement cannot wait",
		"propagationPolicy=orphan":                 `error: propagationPolicy="orphan": must be Background or Orphan`,
		"propagationPolicy=Orphan&adopt=sometimes": `error: adopt="sometimes": must be true or false`,
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		got, err := replacement.ParseDependents(values)
		text := string(got)
		if err != nil {
			text = "error: " + err.Error()
		}
		if !strings.HasPrefix(text, want) || want == "" && text != "" {
			t.Errorf("%s: %s, want %s", query, text, want)
		}
		if again, err2 := replacement.ParseDependents(got.Query()); err == nil && (err2 != nil || again != got) {
			t.Errorf("%s: the query of %q is read as %q, %v", query, got, again, err2)
		}
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	yes := true
	ref := func(apiVersion, kind, name, uid string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(uid)}
	}
	old, other := ref("apps/v1", "Deployment", "web", "old"), ref("v1", "Node", "n", "other")
	old.Controller, old.BlockOwnerDeletion = &yes, &yes
	heir := old
	heir.UID = "new"
	refs := func(refs ...metav1.OwnerReference) []metav1.OwnerReference { return refs }
	record := replacement.Record{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web", Old: "old"}
	for name, test := range map[string]struct {
		uid, namespace string
		refs, want     []metav1.OwnerReference
	}{
		"orphaned":                         {"", "shop", refs(other, old), refs(other)},
		"the only owner":                   {"", "shop", refs(old), refs()},
		"adopted, with the same flags":     {"new", "shop", refs(other, old), refs(other, heir)},
		"adopted already by a controller":  {"new", "shop", refs(heir, old), refs(heir)},
		"two references to the old object": {"new", "shop", refs(old, ref("apps/v1beta1", "Deployment", "web", "old")), refs(heir)},
		"another namespace":                {"new", "other", refs(old), refs(old)},
		"another name":                     {"", "shop", refs(ref("apps/v1", "Deployment", "api", "old")), refs(ref("apps/v1", "Deployment", "api", "old"))},
		"another kind":                     {"", "shop", refs(ref("apps/v1", "ReplicaSet", "web", "old")), refs(ref("apps/v1", "ReplicaSet", "web", "old"))},
		"another group":                    {"", "shop", refs(ref("v1", "Deployment", "web", "old")), refs(ref("v1", "Deployment", "web", "old"))},
		"none":                             {"new", "shop", nil, nil},
	} {
		record := record
		record.New = types.UID(test.uid)
		got := record.Change(append([]metav1.OwnerReference{}, test.refs...), test.namespace)
		if len(got) != len(test.want) || len(got) > 0 && !cmp.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	record.Namespace = ""
	if !record.Names(old, "any") {
		t.Error("an owner without a namespace has no dependents in a namespace")
	}
}
