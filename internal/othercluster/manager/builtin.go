package manager

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/api"
)

// BuiltIn reports whether a server has operator packages built in. Such a server has a
// readiness check for them.
func BuiltIn(ctx context.Context, client rest.Interface) (bool, error) {
	var status int
	result := client.Get().AbsPath("/readyz/poststarthook/" + api.BuiltInHook).Do(ctx).StatusCode(&status)
	switch status {
	case http.StatusNotFound:
		return false, nil
	case http.StatusOK, http.StatusInternalServerError:
		// The status is 500 while the check has not passed yet, but the check exists.
		return true, nil
	}
	if err := result.Error(); err != nil {
		return false, fmt.Errorf("ask the server whether it runs operator packages itself: %w", err)
	}
	return false, nil
}
