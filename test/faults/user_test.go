package faults_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// experience is what a user sees of a server.
type experience struct {
	Requests int
	// Refused is the number of answers with 429.
	Refused int
	// Failed are the errors of other requests.
	Failed []string
	P99    time.Duration
}

func (e experience) String() string {
	return fmt.Sprintf("p99 %s of %d requests, %d refused", e.P99, e.Requests, e.Refused)
}

// otherUser is a user that measures its requests. It is a process of its own, the program "user", because an attack
// keeps the process of the test busy.
type otherUser struct {
	commands io.Writer
	results  *bufio.Reader
}

func newOtherUser(t *testing.T, s *server, name string) otherUser {
	t.Helper()
	cmd := exec.Command(filepath.Join(programs, "user"), s.kubeconfig(), name)
	commands, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	results, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = commands.Close()
		_ = cmd.Wait()
	})
	return otherUser{commands, bufio.NewReader(results)}
}

// measure lets the user send requests for some time.
func (u otherUser) measure(t *testing.T, lasting time.Duration) experience {
	t.Helper()
	var seen experience
	if _, err := fmt.Fprintln(u.commands, lasting); err != nil {
		t.Error(err)
		return seen
	}
	line, err := u.results.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &seen)
	}
	if err != nil {
		t.Errorf("the process of the other user: %v", err)
	}
	for _, failed := range seen.Failed {
		t.Errorf("request of the other user: %s", failed)
	}
	return seen
}

// runUser is the program "user". For each line with a duration on its input, it sends requests for that long and
// writes its experience.
func runUser(args []string, in io.Reader, out io.Writer) error {
	config, err := impersonate(args[1], args[2])
	if err != nil {
		return err
	}
	c, err := clientFor(config)
	if err != nil {
		return err
	}
	number := 0
	for lines := bufio.NewScanner(in); lines.Scan(); {
		lasting, err := time.ParseDuration(lines.Text())
		if err != nil {
			return err
		}
		if err := json.NewEncoder(out).Encode(use(c, lasting, &number)); err != nil {
			return err
		}
	}
	return nil
}

// use creates, reads and deletes objects for some time. number is that of the last object: the deletion of an object may be refused,
// so no name is used twice.
func use(c *client, lasting time.Duration, number *int) experience {
	var seen experience
	var durations []time.Duration
	ctx, end := context.Background(), time.Now().Add(lasting)
	timed := func(a func() answer) (refused bool) {
		begin := time.Now()
		switch got := a(); {
		case got.code == http.StatusTooManyRequests:
			seen.Refused++
			refused = true
		case got.err != nil:
			seen.Failed = append(seen.Failed, got.err.Error())
		}
		durations = append(durations, time.Since(begin))
		return refused
	}
	for ; time.Now().Before(end); *number++ {
		object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("other-%d", *number)}}
		item := hostilePath + "/" + nameOf(object)
		if timed(func() answer { return c.create(ctx, hostilePath, object) }) {
			continue
		}
		timed(func() answer { return c.get(ctx, item) })
		timed(func() answer { return c.delete(ctx, item) })
	}
	slices.Sort(durations)
	seen.Requests, seen.P99 = len(durations), durations[len(durations)*99/100].Round(100*time.Microsecond)
	return seen
}
