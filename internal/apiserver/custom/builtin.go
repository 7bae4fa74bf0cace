package custom

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apiserver/pkg/endpoints/discovery"
)

// groupNames returns the groups of built-in kinds, before any definition is served. A definition in such a group is never
// established, and does not change discovery.
func groupNames(ctx context.Context, builtIn discovery.GroupManager) (map[string]bool, error) {
	groups, err := builtIn.Groups(ctx, &http.Request{Header: http.Header{}})
	if err != nil {
		return nil, fmt.Errorf("list built-in groups: %w", err)
	}
	names := make(map[string]bool, len(groups))
	for _, group := range groups {
		names[group.Name] = true
	}
	return names, nil
}
