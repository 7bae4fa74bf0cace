package selection

import (
	"context"
	"time"
)

// bookmarkEvery is the interval of bookmarks, as in Kubernetes.
const bookmarkEvery = time.Minute

// Run sends bookmarks to the open watches until ctx ends.
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

// Bookmark sends a bookmark to the watches of a kind that asked for bookmarks. It first waits
// until both streams have reached the current revision. A watch without events then does not
// fall behind the history.
func (s *Selection) Bookmark(ctx context.Context, resource string) {
	k := s.kinds[resource]
	s.mu.Lock()
	newest := max(s.pods.version, k.version)
	s.mu.Unlock()
	if err := s.wait(ctx, k, newest); err != nil {
		return // Run tries it again after bookmarkEvery
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
