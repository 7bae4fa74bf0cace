//go:build race

package apiserver_test

// raceDetector says whether the race detector is on. It multiplies the memory of a
// process.
const raceDetector = true
