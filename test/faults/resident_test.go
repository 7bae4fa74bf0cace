package faults_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// resident is the resident memory of a process in MB.
type resident struct {
	// anonymous is the memory that the process has allocated. mapped are the pages of its files, above all of
	// the database of etcd: the kernel takes them back when it needs memory.
	anonymous, mapped int
}

func (r resident) String() string {
	return fmt.Sprintf("%d MB, and %d MB of mapped files", r.anonymous, r.mapped)
}

// watchMemory measures the memory of a server until the returned function is called, which returns the highest values.
func watchMemory(t *testing.T, s *server) (peak func() resident) {
	t.Helper()
	ended, result := make(chan struct{}), make(chan resident)
	pid := s.cmd.Process.Pid
	go func() {
		var highest resident
		for tick := time.Tick(20 * time.Millisecond); ; {
			now, err := readResident(pid)
			if err != nil {
				t.Error(err)
			}
			highest = resident{max(highest.anonymous, now.anonymous), max(highest.mapped, now.mapped)}
			select {
			case <-ended:
				result <- highest
				return
			case <-tick:
			}
		}
	}()
	return func() resident {
		close(ended)
		return <-result
	}
}

// readResident returns the resident memory of a process.
func readResident(pid int) (resident, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return resident{}, err
	}
	anonymous, err := megabytes(string(status), "RssAnon:")
	if err != nil {
		return resident{}, err
	}
	mapped, err := megabytes(string(status), "RssFile:")
	return resident{anonymous, mapped}, err
}

// megabytes returns the value of a line of /proc/PID/status, which is in kB.
func megabytes(status, line string) (int, error) {
	_, after, _ := strings.Cut(status, line)
	fields := strings.Fields(after)
	if len(fields) == 0 {
		return 0, fmt.Errorf("no %s in the status of the process", line)
	}
	kilobytes, err := strconv.Atoi(fields[0])
	return kilobytes >> 10, err
}
