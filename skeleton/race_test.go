//go:build race

package skeleton_test

// raceDetector is true if the race detector is on. sync.Pool, which regexp uses, then
// drops items at random.
const raceDetector = true
