package custom

import (
	"context"
	"fmt"
	"net/http"
)

// loadBuiltInGroups records which groups belong to built-in kinds, before any
// definition is served. A definition in such a group is never established, and does
// not change discovery.
func (s *Server) loadBuiltInGroups(ctx context.Context) error {
	groups, err := s.config.Groups.Groups(ctx, &http.Request{Header: http.Header{}})
	if err != nil {
		return fmt.Errorf("list built-in groups: %w", err)
	}
	s.builtIn = make(map[string]bool, len(groups))
	for _, group := range groups {
		s.builtIn[group.Name] = true
	}
	return nil
}
