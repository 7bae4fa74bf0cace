package selection

import (
	"context"
	"time"

	"k8s.io/apiserver/pkg/storage"
)

const (
	// askEvery is how often storage is asked for its progress while somebody
	// waits for it.
	askEvery = 20 * time.Millisecond
	// tooLarge is how long a version that storage has not reached is waited for,
	// as in Kubernetes.
	tooLarge = 3 * time.Second
)

// wait returns, with the lock held, when both streams of a kind are known up to
// a version and a watch can follow from what they know.
func (s *Selection) wait(ctx context.Context, k *selected, version uint64) error {
	ctx, cancel := context.WithTimeout(ctx, tooLarge)
	defer cancel()
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	s.mu.Lock()
	for !s.reached(k, version) {
		moved, asks := s.moved.Next(), s.toAsk(k)
		s.mu.Unlock()
		for _, ask := range asks {
			// A stream that is just being opened anew says how far it is by itself.
			_ = ask(ctx)
		}
		select {
		case <-moved:
		case <-tick.C:
		case <-ctx.Done():
			s.mu.Lock()
			defer s.mu.Unlock()
			return storage.NewTooLargeResourceVersionError(version, s.version(k), 1)
		}
		s.mu.Lock()
	}
	return nil
}

// version is what both streams of a kind have reached.
func (s *Selection) version(k *selected) uint64 { return min(s.pods.version, k.version) }

func (s *Selection) reached(k *selected, version uint64) bool {
	return k.history.begun && s.version(k) >= max(version, k.history.horizon)
}

// toAsk is what to ask for progress now: nothing, if it was asked for a moment
// ago by somebody else who waits.
func (s *Selection) toAsk(k *selected) []func(context.Context) error {
	if time.Since(k.asked) < askEvery {
		return nil
	}
	k.asked = time.Now()
	var asks []func(context.Context) error
	for _, stream := range []*stream{&s.pods, &k.stream} {
		if stream.ask != nil {
			asks = append(asks, stream.ask)
		}
	}
	return asks
}
