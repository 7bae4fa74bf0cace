package faults_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/failpoint/sources"
)

// point is a failpoint of the program.
type point struct {
	name string
	// fails says that the step can return an error, and etcd that it is a step of etcd.
	fails, etcd bool
}

// breakable is the program with failpoints.
type breakable struct {
	// dir has the program under the names holdfast and etcd.
	dir    string
	points []point
}

// build builds the program with failpoints, once for all tests. The steps of etcd have failpoints in the long form only: the compiler then
// takes minutes for etcd and everything that imports it.
var build = sync.OnceValues(func() (*breakable, error) {
	b := &breakable{dir: filepath.Join(programs, "breakable")}
	found, err := sources.Find("../../internal")
	if err != nil {
		return nil, err
	}
	for _, one := range found {
		if one.Function != "Bound" {
			b.points = append(b.points, point{name: one.Name, fails: one.Function == "Fail"})
		}
	}
	if err := os.Mkdir(b.dir, 0o700); err != nil {
		return nil, err
	}
	arguments := []string{"build", "-tags", "failpoints"}
	if long() {
		c, err := newCopies()
		if err != nil {
			return nil, err
		}
		b.points = append(b.points, c.points...)
		arguments = append(arguments, "-modfile", c.modfile())
	}
	program := filepath.Join(b.dir, "holdfast")
	if err := os.Symlink(program, filepath.Join(b.dir, "etcd")); err != nil {
		return nil, err
	}
	// A developer builds it once for many runs.
	if built := os.Getenv("HOLDFAST_FAULTS_PROGRAM"); built != "" {
		return b, os.Symlink(built, program)
	}
	arguments = append(arguments, "-o", program, "holdfast.dev/holdfast/cmd/holdfast")
	if output, err := exec.Command("go", arguments...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go %s: %w: %s", strings.Join(arguments, " "), err, output)
	}
	return b, nil
})

// buildBreakable is build for a test.
func buildBreakable(t *testing.T) *breakable {
	t.Helper()
	b, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// switches arm the failpoints of a running process.
type switches struct{ own, etcd string }

// newSwitches returns the switches of a process that is started with the variables.
func newSwitches(t *testing.T) (s switches, variables []string) {
	t.Helper()
	s = switches{own: freeAddress(t), etcd: freeAddress(t)}
	return s, []string{"HOLDFAST_FAILPOINTS_HTTP=" + s.own, "GOFAIL_HTTP=" + s.etcd}
}

// arm sets what the process does at a failpoint.
func (s switches) arm(p point, actions string) error {
	_, err := s.send(http.MethodPut, p, "", actions)
	return err
}

// count returns how often the process has reached a failpoint since it was armed.
func (s switches) count(p point) (int, error) {
	text, err := s.send(http.MethodGet, p, "/count", "")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(text))
}

var errRefused = errors.New("the process refuses the request")

func (s switches) send(method string, p point, suffix, body string) (string, error) {
	address := s.own
	if p.etcd {
		address = s.etcd
	}
	request, err := http.NewRequest(method, "http://"+address+"/"+p.name+suffix, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%w: %s", errRefused, text)
	}
	return string(text), err
}
