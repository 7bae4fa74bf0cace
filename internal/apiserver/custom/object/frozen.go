//go:build frozen || race

package object

// CheckFrozen lets the server check that no code changes a shared value in place.
const CheckFrozen = true
