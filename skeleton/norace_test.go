//go:build !race

package skeleton_test

const raceDetector = false
