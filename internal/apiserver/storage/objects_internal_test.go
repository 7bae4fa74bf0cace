package storage

import (
	"context"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWhenReady checks how often whenReady asks a store while the watch cache of the store is not ready.
func TestWhenReady(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		readyAfter, want int
		fails            bool
	}{
		"ready":            {readyAfter: 0, want: 1},
		"ready soon":       {readyAfter: 2, want: 3},
		"ready at the end": {readyAfter: attempts - 1, want: attempts},
		"never ready":      {readyAfter: attempts, want: attempts, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				got, err := whenReady(t.Context(), metav1.ListOptions{ResourceVersion: "7"},
					func(_ context.Context, options *internalversion.ListOptions) (string, error) {
						if calls++; calls <= test.readyAfter {
							return "", apierrors.NewTooManyRequests("the cache is not ready", 1)
						}
						return options.ResourceVersion, nil
					})
				if calls != test.want || apierrors.IsTooManyRequests(err) != test.fails {
					t.Errorf("%d calls, want %d; error %v", calls, test.want, err)
				}
				if !test.fails && got != "7" {
					t.Errorf("the store got the version %q", got)
				}
			})
		})
	}
}

// TestWhenReadyStops checks that the end of a context ends the attempts.
func TestWhenReadyStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	calls := 0
	_, err := whenReady(ctx, metav1.ListOptions{}, func(context.Context, *internalversion.ListOptions) (string, error) {
		calls++
		return "", apierrors.NewTooManyRequests("the cache is not ready", 3600)
	})
	if calls != 1 || !apierrors.IsTooManyRequests(err) {
		t.Errorf("%d calls, error %v", calls, err)
	}
}
