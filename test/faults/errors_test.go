package faults_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// failure records an answer that says neither yes nor no, or none. The caller holds the mutex.
func (h *history) failure(a answer) {
	h.failed = time.Now()
	if a.code == 0 {
		h.errors["no answer"]++
		return
	}
	text := fmt.Sprintf("%d %s: %v", a.code, apierrors.ReasonForError(a.err), a.err)
	h.errors[text]++
	if retryable(a) {
		h.refused++
	} else {
		h.unclear = append(h.unclear, text)
	}
}

// retryable reports whether an answer tells the client that it may try again. After a timeout, the client
// has to find out first whether its write was stored.
func retryable(a answer) bool {
	switch a.code {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	_, again := apierrors.SuggestsClientDelay(a.err)
	return again
}

// lastFailure returns the time of the last error.
func (h *history) lastFailure() time.Time {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.failed
}

// checkErrors fails the test if an error does not tell a client to try again.
func (h *history) checkErrors(t *testing.T) {
	t.Helper()
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, text := range slices.Compact(slices.Sorted(slices.Values(h.unclear))) {
		t.Errorf("a request failed with an error that does not tell the client to try again: %s", text)
	}
}
