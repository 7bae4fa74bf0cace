package guard

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"path"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/broadcast"
)

const (
	// tokenLifetime is the time after which the leader replaces the token.
	tokenLifetime = time.Hour
	// tokenOverlap is the time for which a replaced token is accepted: API servers learn of a new one a moment later.
	tokenOverlap = time.Minute
	// tokenInterval is the interval at which a replica reads the token, so that it does not accept an old one for long.
	tokenInterval = 30 * time.Second
	// unknownInterval is the shortest interval between reads because of requests with unknown tokens.
	unknownInterval = 300 * time.Millisecond
)

// tokens decides which requests come from an API server. An API server has no credentials for a webhook, unless its
// administrator configures some. But it sends reviews to the paths in the webhook configuration, and their last part is a
// random token, which only clients that may read the configuration know. The leader makes it and replaces it; the other
// replicas read it.
type tokens struct {
	// read returns the token in the webhook configuration, the empty text if there is none.
	read func(ctx context.Context) (string, error)
	// unknown has a value if a request has an unknown token.
	unknown chan struct{}

	mu sync.Mutex
	// configured is the token in the configuration when it was last read, and previous the one before it, which is accepted
	// until a time.
	configured, previous string
	until                time.Time
	// issued is the token that this process made as the leader, at a time. It is empty if another process is the leader.
	issued string
	made   time.Time
	// reads is the number of successful reads. done is sent after each.
	reads int
	done  broadcast.Signal
}

func newTokens(read func(ctx context.Context) (string, error)) *tokens {
	return &tokens{read: read, unknown: make(chan struct{}, 1)}
}

// tokenOf returns the token in the paths of a webhook configuration.
func tokenOf(found *configuration) string {
	for _, webhook := range found.Webhooks {
		switch at := webhook.ClientConfig; {
		case isEarly(webhook): // it has the token of its time
		case at.URL != nil:
			return path.Base(*at.URL)
		case at.Service != nil && at.Service.Path != nil:
			return path.Base(*at.Service.Path)
		}
	}
	return ""
}

// keep reads the token until ctx ends: at intervals, and if a request has an unknown one.
func (t *tokens) keep(ctx context.Context) {
	ticker := time.NewTicker(tokenInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		token, err := t.read(ctx)
		switch {
		case err == nil:
			t.learn(token)
		case ctx.Err() == nil:
			klog.ErrorS(err, "the token of the webhook configuration is not read")
		}
		select {
		case <-ctx.Done():
		case <-time.After(unknownInterval):
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		case <-t.unknown:
		}
	}
}

// learn records the token that the configuration has.
func (t *tokens) learn(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reads++
	if token != t.configured {
		t.previous, t.configured, t.until = t.configured, token, time.Now().Add(tokenOverlap)
		if token != t.issued {
			t.issued = "" // another leader has written the configuration
		}
	}
	t.done.Send()
}

// issue returns the token for the webhook configuration. Every leader makes its own, and replaces it after tokenLifetime: a
// user whose update fails because no replica answers reads the URL with the token in the message of the API server.
func (t *tokens) issue() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); t.issued == "" || now.Sub(t.made) > tokenLifetime {
		var text [16]byte
		_, _ = rand.Read(text[:]) // it never fails
		t.issued, t.made = hex.EncodeToString(text[:]), now
	}
	return t.issued
}

// knows reports whether a token is accepted now, and the number of reads so far. next is closed after the next read.
func (t *tokens) knows(token string) (accepted bool, reads int, next <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	same := func(known string) bool {
		return known != "" && subtle.ConstantTimeCompare([]byte(known), []byte(token)) == 1
	}
	accepted = same(t.configured) || same(t.issued) || same(t.previous) && time.Now().Before(t.until)
	return accepted, t.reads, t.done.Next()
}

// accepts reports whether a request has a token of the webhook configuration. This replica may not know the newest one yet, so
// it reads the configuration before it refuses a request. The second read began after the request came.
func (t *tokens) accepts(ctx context.Context, token string) bool {
	accepted, first, next := t.knows(token)
	for reads := first; !accepted && reads < first+2; {
		select {
		case t.unknown <- struct{}{}:
		default:
		}
		select {
		case <-ctx.Done():
			return false
		case <-next:
		}
		accepted, reads, next = t.knows(token)
	}
	return accepted
}

// required returns a handler that answers 404 to requests without a token of the webhook configuration. It does not read
// their bodies.
func (t *tokens) required(m *meters, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		if !t.accepts(request.Context(), request.PathValue("token")) {
			m.strangers.WithLabelValues().Inc()
			http.NotFound(out, request)
			return
		}
		handler.ServeHTTP(out, request)
	})
}
