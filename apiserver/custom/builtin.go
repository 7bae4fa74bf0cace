package custom

import (
	"context"
	"fmt"
	"net/http"
)

// learnBuiltIn notes which groups belong to built-in kinds, before any
// definition is served. Paths below them are not for definitions to serve, nor
// is what discovery says of them.
func (s *Server) learnBuiltIn(ctx context.Context) error {
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
