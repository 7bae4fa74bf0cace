package referrers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
)

// Neighbours are joined in the order of what they cost: custom resources of the same group first, and built-in kinds that are written often last.
func TestJoin(t *testing.T) {
	t.Parallel()
	prefixes := "pods/shop sea.org/docks/shop sea.org/boats/shop fly.org/wings/shop air.org/birds/shop secrets"
	for limit, want := range map[int]string{
		6: "air.org/birds/shop fly.org/wings/shop pods/shop sea.org/boats/shop sea.org/docks/shop secrets",
		5: "air.org/birds/shop fly.org/wings/shop pods/shop sea.org/boats/shop..sea.org/docks/shop secrets",
		// Nothing is between sea.org and secrets. Events are between air.org and fly.org, and Leases between fly.org and pods.
		4: "air.org/birds/shop fly.org/wings/shop pods/shop sea.org/boats/shop..secrets",
		3: "air.org/birds/shop..fly.org/wings/shop pods/shop sea.org/boats/shop..secrets",
		1: "air.org/birds/shop..secrets",
	} {
		var spans, builtIn []etcd.Span
		for _, prefix := range strings.Fields(prefixes) {
			spans = append(spans, etcd.WithPrefix("/registry/"+prefix+"/"))
		}
		for _, resource := range []string{"events", "leases", "pods", "secrets", "podtemplates", "replicasets"} {
			builtIn = append(builtIn, etcd.WithPrefix("/registry/"+resource+"/"))
		}
		var got []string
		for _, span := range join(spans, builtIn, limit) {
			first := strings.TrimSuffix(strings.TrimPrefix(span.First, "/registry/"), "/")
			end := strings.TrimSuffix(strings.TrimPrefix(span.End, "/registry/"), "0") // the byte after the slash
			if first != end {
				first += ".." + end
			}
			got = append(got, first)
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("at most %d: %s", limit, diff)
		}
	}
}

// However many spans there are, none of their keys is lost.
func TestJoinMany(t *testing.T) {
	t.Parallel()
	var spans []etcd.Span
	for i := range 500 {
		spans = append(spans, etcd.WithPrefix(fmt.Sprintf("/registry/g%d.org/kinds/shop/", i*7%500)))
	}
	joined := join(append([]etcd.Span(nil), spans...), nil, maxSpans)
	if len(joined) != maxSpans {
		t.Errorf("%d spans", len(joined))
	}
	for _, span := range spans {
		found := false
		for _, in := range joined {
			found = found || in.First <= span.First && span.End <= in.End
		}
		if !found {
			t.Errorf("%s is lost", span.First)
		}
	}
}
