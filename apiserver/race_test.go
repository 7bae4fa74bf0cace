//go:build race

package apiserver_test

// The race detector multiplies the memory of a process.
const raceDetector = true
