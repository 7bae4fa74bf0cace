//go:build race

package skeleton_test

// raceDetector is on: sync.Pool, which regexp uses, then forgets at random.
const raceDetector = true
