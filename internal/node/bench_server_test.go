package node_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// benchServer is a server in a process of its own, so that the benchmark can measure it without the
// agents.
type benchServer struct {
	*servertest.Process
	config apiserver.Config
	// runs counts the cases that used the server.
	runs int
}

// startBenchServer starts a server on a new directory.
func startBenchServer(b *testing.B) *benchServer {
	b.Helper()
	dir := b.TempDir()
	s := &benchServer{config: apiserver.Config{DataDir: dir, Port: servertest.FreePort(b), Kubeconfig: filepath.Join(dir, "admin.kubeconfig")}}
	s.start(b)
	return s
}

// start starts the server, again after Kill, with the same data and at the same address.
func (s *benchServer) start(b *testing.B) {
	b.Helper()
	s.Process = servertest.StartProcess(b, s.config)
}

// authority returns the authority that signs the certificates of the agents.
func (s *benchServer) authority(b *testing.B) *access.Authority {
	b.Helper()
	pki, err := access.OpenPKI(filepath.Join(s.config.DataDir, "pki"), nil)
	if err != nil {
		b.Fatal(err)
	}
	return pki.Authority()
}

// memory returns the resident memory of the server in MB, or 0 where there is no /proc.
func (s *benchServer) memory(b *testing.B) float64 {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if err != nil {
		b.Fatal(err)
	}
	found := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(data)
	if found == nil {
		b.Fatal("no VmRSS")
	}
	return float64(number(b, string(found[1]))) / 1000
}

// cpuTime returns the CPU time of the server, or 0 where there is no /proc.
func (s *benchServer) cpuTime(b *testing.B) time.Duration {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.PID()))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if err != nil {
		b.Fatal(err)
	}
	// The name of the command, in parentheses, may contain spaces and parentheses. User and
	// system time are the 12th and 13th field after it, in hundredths of a second.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	return time.Duration(number(b, fields[11])+number(b, fields[12])) * 10 * time.Millisecond
}

var watchMetric = regexp.MustCompile(`(?m)^apiserver_longrunning_requests\{.*resource="(configmaps|secrets|pods)".*verb="WATCH".*\} (\S+)$`)

// watches returns the number of open watches of pods and objects, from the metrics of the
// server. Some of them belong to the server itself.
func (s *benchServer) watches(b *testing.B) int {
	b.Helper()
	text, err := s.Client(b).Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	open := 0.0
	for _, found := range watchMetric.FindAllSubmatch(text, -1) {
		count, err := strconv.ParseFloat(string(found[2]), 64)
		if err != nil {
			b.Fatal(err)
		}
		open += count
	}
	return int(open)
}
