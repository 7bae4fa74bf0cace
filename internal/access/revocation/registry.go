package revocation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/internal/access"
)

// loadTimeout is how long authentication waits for the list to be read for the first time.
const loadTimeout = 10 * time.Second

var (
	errNotLoaded  = errors.New("the list of revoked credentials was not read yet")
	errUnreadable = fmt.Errorf("the list of revoked credentials cannot be parsed, so the server accepts only the certificate in its "+
		"admin.kubeconfig: use it to correct the ConfigMap %s in the namespace %s", Name, Namespace)
)

// Registry holds the current list and the sessions that it may end.
type Registry struct {
	// loaded is closed when the first list was set.
	loaded chan struct{}

	// list is nil until the first list was set. It changes while mu is held.
	list     atomic.Pointer[List]
	mu       sync.Mutex
	sessions map[*session]struct{}
}

// NewRegistry returns a registry without a list. Authentication waits until Set was called.
func NewRegistry() *Registry {
	return &Registry{loaded: make(chan struct{}), sessions: map[*session]struct{}{}}
}

// Set replaces the list, and ends the sessions of the credentials that it revokes.
func (r *Registry) Set(list *List) {
	var revoked []*session
	r.mu.Lock()
	if r.list.Swap(list) == nil {
		close(r.loaded)
	}
	for s := range r.sessions {
		if list.check(s.credential) != nil {
			revoked = append(revoked, s)
		}
	}
	r.mu.Unlock()
	for _, s := range revoked {
		s.end()
	}
}

// current waits until there is a list and returns it.
func (r *Registry) current(ctx context.Context) (*List, error) {
	if list := r.list.Load(); list != nil {
		return list, nil
	}
	timeout := time.NewTimer(loadTimeout)
	defer timeout.Stop()
	select {
	case <-r.loaded:
		return r.list.Load(), nil
	case <-ctx.Done():
	case <-timeout.C:
	}
	return nil, errNotLoaded
}

// Check returns an error if a credential is revoked. It waits until there is a list.
func (r *Registry) Check(ctx context.Context, c Credential) error {
	list, err := r.current(ctx)
	if err != nil {
		return err
	}
	return list.check(c)
}

// check returns an error if the list revokes a credential.
func (l *List) check(c Credential) error {
	if l.isUnreadable() && (c.User != access.AdminUser || c.Issued.Before(l.unreadableAt)) {
		return errUnreadable
	}
	if entry, found := l.Find(c); found {
		return fmt.Errorf("the credential of %s is revoked: %s", c.User, entry.Subject())
	}
	return nil
}

// ValidFrom returns the time before which the list revokes all credentials of a user. It is
// zero if there is no such time.
func (r *Registry) ValidFrom(user string) time.Time {
	if list := r.list.Load(); list != nil {
		return list.validFrom(user)
	}
	return time.Time{}
}

// session is a request from its authentication to its end. The registry knows the sessions of
// long-running requests only.
type session struct {
	// credential is set before the registry knows the session, and never changes then.
	credential    Credential
	end           context.CancelFunc
	isLongRunning request.LongRunningRequestCheck
}

type sessionKey struct{}

// WithSessions wraps the handler of all requests. When a credential is revoked, it cancels the
// contexts of the long-running requests, such as watches, that were authenticated with it. Other
// requests that have begun still get their response. One of them may be the request with which a
// client revokes its own credential. atEnd calls a function when the request of a context ends, which is not before the handler has returned.
func (r *Registry) WithSessions(next http.Handler, isLongRunning request.LongRunningRequestCheck, atEnd func(context.Context, func())) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx, cancel := context.WithCancel(req.Context())
		s := &session{end: cancel, isLongRunning: isLongRunning}
		defer atEnd(ctx, func() {
			r.remove(s)
			cancel()
		})
		next.ServeHTTP(w, req.WithContext(context.WithValue(ctx, sessionKey{}, s)))
	})
}

// begin adds a session to those that Set ends. It returns an error if the current list revokes the
// credential.
func (r *Registry) begin(s *session) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.list.Load().check(s.credential); err != nil {
		return err
	}
	r.sessions[s] = struct{}{}
	return nil
}

func (r *Registry) remove(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sessions, s)
}
