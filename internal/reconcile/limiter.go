package reconcile

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
)

// newLimiter returns the retry delays of a config.
func newLimiter[K comparable](config Config[K]) workqueue.TypedRateLimiter[K] {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[K](config.FirstRetry, config.LastRetry)
	if config.Jitter == 0 {
		return limiter
	}
	return jitterLimiter[K]{TypedRateLimiter: limiter, factor: config.Jitter}
}

// jitterLimiter adds a random part to the delays of another limiter.
type jitterLimiter[K comparable] struct {
	workqueue.TypedRateLimiter[K]
	factor float64
}

// When implements workqueue.TypedRateLimiter.
func (l jitterLimiter[K]) When(key K) time.Duration {
	return wait.Jitter(l.TypedRateLimiter.When(key), l.factor)
}
