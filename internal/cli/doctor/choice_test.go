//go:build !plain

package doctor_test

// hasCaches reports whether the server has caches of custom resources, with metrics.
const hasCaches = true
