package selection

import (
	"context"
	"time"

	"k8s.io/apiserver/pkg/storage"
)

const (
	// askEvery is the interval at which storage is asked for its progress while a request
	// waits.
	askEvery = 20 * time.Millisecond
	// waitTimeout is how long a request waits for a version that storage has not reached,
	// as in Kubernetes.
	waitTimeout = 3 * time.Second
)

// wait waits until both streams of a kind have reached a version and the history has begun.
// It returns with the lock held, unless it returns an error.
func (s *Selection) wait(ctx context.Context, k *selected, version uint64) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	s.mu.Lock()
	for !s.reached(k, version) {
		advanced, asks := s.advanced.Next(), s.toAsk(k)
		s.mu.Unlock()
		for _, ask := range asks {
			// A stream that is being opened again reports its progress without being asked.
			_ = ask(ctx)
		}
		select {
		case <-advanced:
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

// version returns the revision that both streams of a kind have reached.
func (s *Selection) version(k *selected) uint64 { return min(s.pods.version, k.version) }

func (s *Selection) reached(k *selected, version uint64) bool {
	return k.history.begun && s.version(k) >= max(version, k.history.horizon)
}

// toAsk returns the functions that ask storage for its progress. It returns none if another
// request asked less than askEvery ago.
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
