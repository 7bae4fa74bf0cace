package fairness

import (
	"context"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
)

const (
	// hasty is the time in which a client that cancels a request counts as hasty. A watch that its
	// client ends later was of use.
	hasty = time.Second
	// paceInterval is the time for which a client pays with each request that it cancels.
	paceInterval = 50 * time.Millisecond
	// paceCredit is the time that a client may owe before its requests wait: 100 cancelled requests.
	paceCredit = 100 * paceInterval
	// paceWait bounds the time that a request waits for its turn, and the time that a client may owe above its
	// credit.
	paceWait = time.Second
)

// payer is the client that pays for a cancelled request, as far as the server knows it before it has authenticated the
// request: the digest of its credential and of the user that it impersonates, or of its address.
type payer [sha256.Size]byte

// payerOf returns the payer of a request. A client that invents credentials or users to have several payers is
// refused before it reaches the priority levels.
func payerOf(req *http.Request) payer {
	digest := sha256.New()
	// A Hash never returns an error.
	switch token := req.Header.Get("Authorization"); {
	case token != "":
		_, _ = digest.Write([]byte(token))
	case req.TLS != nil && len(req.TLS.PeerCertificates) > 0:
		_, _ = digest.Write(req.TLS.PeerCertificates[0].Raw)
	default:
		_, _ = digest.Write([]byte(req.RemoteAddr))
	}
	for _, name := range []string{authenticationv1.ImpersonateUserHeader, authenticationv1.ImpersonateUIDHeader} {
		_, _ = digest.Write([]byte("\x00" + req.Header.Get(name)))
	}
	var p payer
	digest.Sum(p[:0])
	return p
}

// pace slows clients down that cancel their requests at once. Each of these requests takes the locks of the priority levels up to three
// times and a part of the work, and the client has its next request under way while the server ends the one before. A client may
// cancel one request in each paceInterval. When it has used up its credit, its requests wait for their turns. A
// request that is cancelled while it waits costs nothing, and nothing is charged for it.
type pace struct {
	mu sync.Mutex
	// debts are those since rotated, and older those of the time before. No debt lasts longer than one of these times.
	debts, older map[payer]*debt
	rotated      time.Time
}

// debt is what a client owes.
type debt struct {
	// until is when the client will owe nothing.
	until time.Time
	// turn is that of the last request that waits.
	turn time.Time
}

func newPace() *pace { return &pace{debts: map[payer]*debt{}} }

// charge counts a cancelled request of a client.
func (p *pace) charge(of payer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Sub(p.rotated) > paceCredit+paceWait {
		p.debts, p.older, p.rotated = map[payer]*debt{}, p.debts, now
	}
	d := p.find(of)
	if d == nil {
		d = &debt{}
	}
	p.debts[of] = d
	d.until = earlier(later(d.until, now).Add(paceInterval), now.Add(paceCredit+paceWait))
}

// await returns when the next request of a client may begin. It returns false if ctx ends before.
func (p *pace) await(ctx context.Context, of payer) bool {
	wait := p.reserve(of)
	if wait <= 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// reserve returns how long the next request of a client waits.
func (p *pace) reserve(of payer) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	d, now := p.find(of), time.Now()
	if d == nil || d.until.Sub(now) <= paceCredit {
		return 0
	}
	d.turn = earlier(later(d.turn, now).Add(paceInterval), now.Add(paceWait))
	return d.turn.Sub(now)
}

// find returns the debt of a client, or nil.
func (p *pace) find(of payer) *debt {
	if d := p.debts[of]; d != nil {
		return d
	}
	return p.older[of]
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
