package manager

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/operator/api"
)

// BuiltIn says whether a server admits and runs operator packages itself, which it
// shows by one of the checks of its readiness.
func BuiltIn(ctx context.Context, client rest.Interface) (bool, error) {
	var status int
	result := client.Get().AbsPath("/readyz/poststarthook/" + api.BuiltInHook).Do(ctx).StatusCode(&status)
	switch status {
	case http.StatusNotFound:
		return false, nil
	case http.StatusOK, http.StatusInternalServerError:
		// A check that has not passed yet is one that is there.
		return true, nil
	}
	if err := result.Error(); err != nil {
		return false, fmt.Errorf("ask the server whether it runs operator packages itself: %w", err)
	}
	return false, nil
}
