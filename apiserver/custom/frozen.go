//go:build frozen || race

package custom

// checkFrozen lets the server check that no code changes a cached tree in place.
const checkFrozen = true
