package connection_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"holdfast.dev/holdfast/internal/connection"
)

func TestTryAgain(t *testing.T) {
	t.Parallel()
	pods := corev1.Resource("pods")
	for name, test := range map[string]struct {
		err     error
		code    int32
		seconds int
	}{
		"etcd did not confirm a write": {apierrors.NewTimeoutError("etcd did not confirm", 0), http.StatusInternalServerError, 1},
		"etcd refused a write":         {apierrors.NewServerTimeout(pods, "update", 1), http.StatusInternalServerError, 1},
		"too many requests":            {apierrors.NewTooManyRequests("later", 1), http.StatusInternalServerError, 1},
		"inside another error":         {fmt.Errorf("charge: %w", apierrors.NewTimeoutError("late", 0)), http.StatusInternalServerError, 1},
		"a request took too long":      {fmt.Errorf("put: %w", context.DeadlineExceeded), http.StatusInternalServerError, 1},
		"another status":               {apierrors.NewForbidden(pods, "a", errors.New("no")), http.StatusInternalServerError, 0},
		"no status":                    {errors.New("broken"), http.StatusInternalServerError, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := connection.TryAgain(test.err, pods, "create")
			seconds, retries := apierrors.SuggestsClientDelay(got)
			if got.ErrStatus.Code != test.code || retries != (test.seconds > 0) || seconds != test.seconds {
				t.Errorf("%+v, delay %d, %t", got.ErrStatus, seconds, retries)
			}
		})
	}
}
