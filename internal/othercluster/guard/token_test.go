package guard_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/othercluster/guard"
)

// TestUnknownClients checks that a client that does not know the token of the webhook configuration learns nothing: neither
// rules nor values, also if its review names an administrator and the object of a scale.
func TestUnknownClients(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.run()
	f.create(definitions, widgetsDefinition)
	f.create(policies, `
apiVersion: guard.holdfast.dev/v1alpha1
kind: ImmutabilityPolicy
metadata: {name: sizes}
spec: {resources: [widgets.example.com], rules: [immutable spec.replicas]}
`)
	f.create(widgets, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: small, replicas: 7}}`)
	f.guarded("widgets/scale")
	stored, err := f.of(widgets).Get(t.Context(), "w", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const scale = `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"w","namespace":"default","resourceVersion":"VERSION"},` +
		`"spec":{"replicas":1}}`
	raw := runtime.RawExtension{Raw: []byte(strings.Replace(scale, "VERSION", stored.GetResourceVersion(), 1))}
	forged := &admissionv1.AdmissionRequest{
		UID: "1", Operation: admissionv1.Update, Namespace: "default", Name: "w", SubResource: "scale",
		Resource:  metav1.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"},
		UserInfo:  authenticationv1.UserInfo{Username: "admin", Groups: []string{"system:masters"}},
		OldObject: raw, Object: raw,
	}
	known := f.address(guard.ImmutableWebhook)
	if status, answer := f.post(known, forged); answer == nil || !strings.Contains(statusOf(t, answer), "changed from 7 to 1") {
		t.Errorf("the API server gets %s, %+v", status, answer)
	}
	token := known[strings.LastIndex(known, "/")+1:]
	if len(token) != 32 || !strings.HasSuffix(f.address(guard.OwnershipWebhook), guard.OwnershipPath+"/"+token) {
		t.Errorf("URL of the webhook: %s", known)
	}
	for _, path := range []string{
		guard.ImmutablePath, guard.ImmutablePath + "/", guard.ImmutablePath + "/" + strings.Repeat("0", 32), guard.OwnershipPath,
		guard.OwnershipPath + "/x", guard.ImmutablePath + "/" + token[1:], guard.ImmutablePath + "/" + token + "/" + token,
	} {
		if status, answer := f.post(f.url+path, forged); status != "404 Not Found" || answer != nil {
			t.Errorf("%s: %s, %+v", path, status, answer)
		}
	}
}

// configuration is a webhook configuration of which tokens read the token.
type configuration struct {
	token atomic.Pointer[string]
	reads atomic.Int32
}

func (c *configuration) read(context.Context) (string, error) {
	c.reads.Add(1)
	return *c.token.Load(), nil
}

func (c *configuration) write(token string) { c.token.Store(&token) }

// TestTokens follows two replicas through changes of the token and of the leader.
func TestTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		var shared configuration
		shared.write("")
		leader, other := guard.NewTokens(shared.read), guard.NewTokens(shared.read)
		running.Go(func() { leader.Keep(ctx) })
		running.Go(func() { other.Keep(ctx) })
		want := func(what string, replica guard.Tokens, token string, accepted bool) {
			t.Helper()
			if got := replica.Accepts(ctx, token); got != accepted {
				t.Errorf("%s: accepted %t", what, got)
			}
		}
		want("without a configuration", other, "", false)
		first := leader.Issue()
		want("not written yet", leader, first, true)
		want("not written yet, on the other replica", other, first, false)
		shared.write(first)
		want("written", other, first, true)
		if leader.Issue() != first {
			t.Error("the token changes at once")
		}
		time.Sleep(61 * time.Minute)
		second := leader.Issue()
		if second == first {
			t.Error("the token does not change")
		}
		time.Sleep(10 * time.Minute)
		want("the new token is not written, because the API server fails", leader, first, true)
		shared.write(second)
		want("the new token", other, second, true)
		want("the old token, a moment later", other, first, true)
		time.Sleep(2 * time.Minute)
		want("the old token, later", other, first, false)
		want("the old token, later, on the leader", leader, first, false)
		third := other.Issue()
		shared.write(third)
		want("the token of another leader", leader, third, true)
		time.Sleep(2 * time.Minute)
		want("the token of the last leader", leader, second, false)
		if leader.Issue() == second {
			t.Error("a leader uses the token of its last term again")
		}
	})
}

// TestTokensAreReadSeldom checks that requests with unknown tokens cost the API server few reads.
func TestTokensAreReadSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		var shared configuration
		shared.write("known")
		replica := guard.NewTokens(shared.read)
		running.Go(func() { replica.Keep(ctx) })
		time.Sleep(time.Second)
		before := shared.reads.Load()
		began := time.Now()
		var clients sync.WaitGroup
		for range 1000 {
			clients.Go(func() {
				if replica.Accepts(ctx, "unknown") {
					t.Error("an unknown token is accepted")
				}
			})
		}
		clients.Wait()
		if reads := shared.reads.Load() - before; reads > 3 || time.Since(began) > 2*time.Second {
			t.Errorf("1000 requests caused %d reads in %v", reads, time.Since(began))
		}
	})
}
