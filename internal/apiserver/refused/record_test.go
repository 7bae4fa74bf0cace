package refused

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/internal/protection"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// clock is a record with a clock that the test sets.
func clock() (*Record, *time.Time) {
	now := start
	return &Record{now: func() time.Time { return now }}, &now
}

// write returns the context of a request.
func write(by, verb, resource, namespace, name string) context.Context {
	ctx := request.WithUser(context.Background(), &user.DefaultInfo{Name: by})
	return request.WithRequestInfo(ctx, &request.RequestInfo{
		IsResourceRequest: true, Verb: verb, APIVersion: "v1", Resource: resource, Namespace: namespace, Name: name,
	})
}

func refusal(fields ...string) []protection.Refusal {
	return []protection.Refusal{{Protection: protection.ImmutableField, Fields: fields}}
}

// rights allow to get the objects with a name, and to list those of a namespace.
type rights struct{ name, namespace string }

// Authorize implements authorizer.UnconditionalAuthorizer.
func (r rights) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.GetVerb() == "get" && a.GetName() == r.name || a.GetVerb() == "list" && a.GetNamespace() == r.namespace {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// all allows everything.
type all struct{}

// Authorize implements authorizer.UnconditionalAuthorizer.
func (all) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionAllow, "", nil
}

// TestAdd counts a repeated write once, keeps another one, and forgets both after an hour without a refusal.
func TestAdd(t *testing.T) {
	t.Parallel()
	r, now := clock()
	ctx := write("amy", "patch", "boats", "default", "kestrel")
	r.Add(ctx, refusal("spec.hull"))
	*now = start.Add(50 * time.Minute)
	r.Add(ctx, refusal("spec.hull"))
	r.Add(ctx, refusal("spec.mast", "spec.hull"))
	*now = start.Add(55 * time.Minute)
	r.Add(write("ben", "delete", "boats", "default", "kestrel"), []protection.Refusal{{Protection: protection.KeptObject}})
	found := r.Seen(ctx, all{})
	if len(found) != 3 || found[0].User != "ben" || found[0].Reason != "the object must be kept" || len(found[0].Fields) != 0 {
		t.Fatalf("writes %+v, want three, the newest first", found)
	}
	once := found[1]
	if once.Count != 2 || !once.First.Equal(start) || !once.Last.Equal(start.Add(50*time.Minute)) || once.Fields[0] != "spec.hull" {
		t.Errorf("the repeated write is %+v", once)
	}
	*now = start.Add(50*time.Minute + Age)
	if found := r.About(schema.GroupResource{Resource: "boats"}, "default", "kestrel"); len(found) != 1 || found[0].User != "ben" {
		t.Errorf("after an hour: %+v, want the write of ben", found)
	}
	if len(r.writes) != 1 {
		t.Errorf("the record still has %d writes", len(r.writes))
	}
	// The same write starts again.
	r.Add(ctx, refusal("spec.hull"))
	if found := r.Seen(ctx, all{}); len(found) != 2 || found[0].Count != 1 {
		t.Errorf("writes %+v, want a new one with the count 1", found)
	}
}

// TestSeen shows a user only the writes to objects that the user may get.
func TestSeen(t *testing.T) {
	t.Parallel()
	r, _ := clock()
	r.Add(write("amy", "patch", "boats", "default", "kestrel"), refusal("spec.hull"))
	r.Add(write("amy", "patch", "boats", "default", "heron"), refusal("spec.hull"))
	r.Add(write("amy", "deletecollection", "boats", "harbour", ""), refusal())
	r.Add(write("amy", "deletecollection", "boats", "default", ""), refusal())
	found := r.Seen(write("ben", "get", "", "", ""), rights{"kestrel", "harbour"})
	if len(found) != 2 || found[0].Name != "kestrel" || found[1].Namespace != "harbour" {
		t.Errorf("ben sees %+v, want kestrel and the collection in harbour", found)
	}
	if found := r.Seen(t.Context(), all{}); len(found) != 0 {
		t.Errorf("a request without a user sees %+v", found)
	}
}

// TestBounds keeps a bounded number of writes with bounded texts. The user with the most loses the oldest one.
func TestBounds(t *testing.T) {
	t.Parallel()
	r, now := clock()
	r.Add(write("ben", "patch", "boats", "default", "kestrel"), refusal("spec.hull"))
	for i := range maxWrites + 50 {
		*now = now.Add(time.Second)
		r.Add(write("amy", "patch", "boats", "default", fmt.Sprint("boat-", i)), refusal(strings.Repeat("ü", 5000)))
	}
	found := r.Seen(write("ben", "get", "", "", ""), all{})
	if len(found) != maxWrites || found[maxWrites-1].User != "ben" || found[maxWrites-2].Name != "boat-51" {
		t.Fatalf("%d writes, the oldest ones %+v", len(found), found[len(found)-2:])
	}
	if length := len(found[0].Fields[0]); length > maxText+len("…") {
		t.Errorf("a field with %d bytes", length)
	}
}

// TestReasons has words for every protection.
func TestReasons(t *testing.T) {
	t.Parallel()
	for _, each := range protection.All() {
		if reasons[each] == "" {
			t.Errorf("%s has no reason", each)
		}
	}
}
