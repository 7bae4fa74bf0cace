//go:build !failpoints

package cli_test

import (
	"bytes"
	"os"
	"testing"

	"holdfast.dev/holdfast/internal/failpoint/sources"
)

// The program has no failpoint: not even their names are in it. They have a colon, so that no function of Go has such a name. The program of
// the tests has all commands.
func TestNoFailpoints(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	points, err := sources.Find("..")
	if err != nil {
		t.Fatal(err)
	}
	if len(points) < 40 {
		t.Fatalf("the sources have %d failpoints: the test does not find them any more", len(points))
	}
	for _, point := range points {
		if bytes.Contains(program, []byte(point.Name)) {
			t.Errorf("the program has the failpoint %s", point.Name)
		}
	}
}
