package revocation_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/internal/access/revocation"
)

// A registry without a list lets credentials wait, and rejects them in the end.
func TestCheckWaitsForTheList(t *testing.T) {
	const notRead = "the list of revoked credentials was not read yet"
	jane := revocation.Credential{User: "jane"}
	revoked := revocation.NewList([]revocation.Entry{{User: "jane"}})
	tests := map[string]struct {
		then func(r *revocation.Registry, cancel context.CancelFunc)
		want string
	}{
		"list arrives": {
			then: func(r *revocation.Registry, _ context.CancelFunc) { r.Set(revocation.NewList(nil)) },
		},
		"list with it arrives": {
			then: func(r *revocation.Registry, _ context.CancelFunc) { r.Set(revoked) },
			want: "the credential of jane is revoked: user jane",
		},
		"request ends":            {then: func(_ *revocation.Registry, cancel context.CancelFunc) { cancel() }, want: notRead},
		"nothing for ten seconds": {then: func(*revocation.Registry, context.CancelFunc) {}, want: notRead},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := revocation.NewRegistry()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				answer := make(chan error, 1)
				go func() { answer <- r.Check(ctx, jane) }()
				synctest.Wait()
				select {
				case err := <-answer:
					t.Fatalf("answered %v without a list", err)
				default:
				}
				test.then(r, cancel)
				got := ""
				if err := <-answer; err != nil {
					got = err.Error()
				}
				if got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			})
		})
	}
}

// A change of the list ends the running watches of revoked credentials, and nothing else.
func TestSetEndsSessions(t *testing.T) {
	r := revocation.NewRegistry()
	r.Set(revocation.NewList(nil))
	tokens := authenticator.TokenFunc(func(_ context.Context, token string) (*authenticator.Response, bool, error) {
		return &authenticator.Response{User: &user.DefaultInfo{Name: token}}, true, nil
	})
	authenticate := r.Request(bearertoken.New(r.Token(tokens)))
	began, ended := make(chan string), make(chan string, 3)
	isLongRunning := func(_ *http.Request, info *request.RequestInfo) bool { return info.Verb == "watch" }
	handler := r.WithSessions(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		info := &request.RequestInfo{Verb: req.URL.Query().Get("verb")}
		req = req.WithContext(request.WithRequestInfo(req.Context(), info))
		response, ok, err := authenticate.AuthenticateRequest(req)
		if !ok {
			began <- err.Error()
			return
		}
		began <- response.User.GetName()
		<-req.Context().Done()
		ended <- info.Verb + " of " + response.User.GetName()
	}), isLongRunning, func(_ context.Context, do func()) { do() })
	ctx, cancel := context.WithCancel(t.Context())
	send := func(verb, name string) string {
		req := httptest.NewRequestWithContext(ctx, http.MethodGet, "/?verb="+verb, nil)
		req.Header.Set("Authorization", "Bearer "+name)
		go handler.ServeHTTP(httptest.NewRecorder(), req)
		return <-began
	}
	for _, name := range []string{"jane", "joe"} {
		if got := send("watch", name); got != name {
			t.Fatalf("%s: %s", name, got)
		}
	}
	if got := send("update", "jane"); got != "jane" {
		t.Fatal(got)
	}
	r.Set(revocation.NewList([]revocation.Entry{{User: "jane"}}))
	if got := <-ended; got != "watch of jane" {
		t.Errorf("the %s ended", got)
	}
	if got := send("get", "jane"); got != "the credential of jane is revoked: user jane" {
		t.Errorf("another request: %s", got)
	}
	select {
	case got := <-ended:
		t.Errorf("the %s ended", got)
	default:
	}
	cancel()
	rest := []string{<-ended, <-ended}
	slices.Sort(rest)
	if diff := cmp.Diff([]string{"update of jane", "watch of joe"}, rest); diff != "" {
		t.Errorf("ended at last (-want +got):\n%s", diff)
	}
}
