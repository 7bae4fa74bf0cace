package selection

import (
	"context"
	"time"
)

// bookmarkEvery is how often open watches are told how far they are, as in
// Kubernetes.
const bookmarkEvery = time.Minute

// Run tells open watches now and then how far they are, until ctx ends.
func (s *Selection) Run(ctx context.Context) {
	ticker := time.NewTicker(bookmarkEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, k := range s.kinds {
			s.Bookmark(ctx, k.Resource)
		}
	}
}

// Bookmark tells the watches of a kind how far they are, if they want to know.
// What both streams know of now is asked for first, so that a quiet watch does
// not fall behind the history.
func (s *Selection) Bookmark(ctx context.Context, resource string) {
	k := s.kinds[resource]
	s.mu.Lock()
	newest := max(s.pods.version, k.version)
	s.mu.Unlock()
	if err := s.wait(ctx, k, newest); err != nil {
		return // the next one is soon enough
	}
	defer s.mu.Unlock()
	event := k.bookmark(s.version(k), nil)
	for _, watches := range k.watches {
		for w := range watches {
			if w.bookmarks {
				k.send(w, event)
			}
		}
	}
}
