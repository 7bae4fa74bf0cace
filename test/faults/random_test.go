package faults_test

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// long reports whether the long forms of the tests run, as in `make faults`.
func long() bool { return os.Getenv("HOLDFAST_FAULTS") == "long" }

// either returns the value for the short or the long form of a test.
func either[T any](short, forLong T) T {
	if long() {
		return forLong
	}
	return short
}

// rounds returns the number of rounds of a test. HOLDFAST_FAULTS_ROUNDS sets it for the long form.
func rounds(t *testing.T, short, forLong int) int {
	t.Helper()
	text := os.Getenv("HOLDFAST_FAULTS_ROUNDS")
	if !long() || text == "" {
		return either(short, forLong)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("HOLDFAST_FAULTS_ROUNDS: %v", err)
	}
	return n
}

// seed is the start of all random choices of a test.
type seed uint64

// seeds has the seeds of the tests by their names.
var seeds sync.Map

// newSeed returns the seed of HOLDFAST_FAULTS_SEED, or a new one, and prints it. A second call in a test returns the same.
func newSeed(t *testing.T) seed {
	t.Helper()
	s := seed(time.Now().UnixNano())
	if made, ok := seeds.Load(t.Name()); ok {
		return made.(seed)
	}
	if text := os.Getenv("HOLDFAST_FAULTS_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("HOLDFAST_FAULTS_SEED: %v", err)
		}
		s = seed(n)
	}
	seeds.Store(t.Name(), s)
	t.Cleanup(func() { seeds.Delete(t.Name()) })
	t.Logf("seed %d: repeat with HOLDFAST_FAULTS_SEED=%d and -run '^%s$'", s, s, t.Name())
	return s
}

// random returns the random numbers of one part of a test. The order in which the parts run does
// not change them.
func (s seed) random(part string) *rand.Rand {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(part))
	return rand.New(rand.NewPCG(uint64(s), hash.Sum64()))
}
