package faults_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// diskMegabytes is the size of a small disk. etcd writes its log to files of 64 MB.
const diskMegabytes = 160

// runOnSmallDisk is the program smalldisk: it mounts a small file system in memory and becomes holdfast.
// Its first arguments are a directory to mount on, a directory whose files are copied to it, and rw or
// ro. The mount is in a namespace of its own, so that it ends with the process.
func runOnSmallDisk(args []string) error {
	dir, source, mode := args[1], args[2], args[3]
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", diskMegabytes)); err != nil {
		return err
	}
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		return err
	}
	if mode == "ro" {
		if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			return err
		}
	}
	holdfast := filepath.Join(filepath.Dir(args[0]), "holdfast")
	return syscall.Exec(holdfast, append([]string{holdfast}, args[4:]...), os.Environ())
}

// startOnSmallDisk starts a server whose data directory is on a small disk, with a copy of the files of
// source. It skips the test if the machine does not allow to mount.
func startOnSmallDisk(t *testing.T, source, mode string) *server {
	t.Helper()
	s := newServer(t.TempDir())
	cmd := exec.Command(filepath.Join(programs, "smalldisk"), append([]string{s.dataDir, source, mode}, s.flags...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	p, err := launch(cmd)
	if errors.Is(err, syscall.EPERM) {
		t.Skip("this machine allows no namespace for a mount: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.end(t, p)
	return s
}

// inside returns a path as the process sees it.
func (s *server) inside(path string) string {
	return fmt.Sprintf("/proc/%d/root%s", s.cmd.Process.Pid, path)
}

// The disk of a server becomes full while clients write. The last line of the server says what to do. When
// there is space again, it starts with every acknowledged write.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	s := newSeed(t)
	server := startOnSmallDisk(t, t.TempDir(), "rw")
	if _, err := server.firstLine(); err != nil {
		t.Fatal(err)
	}
	c, err := newClient(server.inside(server.kubeconfig()))
	if err != nil {
		t.Fatal(err)
	}
	server.client.Store(c)
	server.streams.watch(t, server)
	prepare(t, c)
	ledger := newLedger()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	for _, w := range newWriters(s, ledger) {
		running.Go(func() { w.run(ctx, t, c) })
	}
	ledger.await(t, 100)
	// Copying needs a place outside of the mount, while the files can still be reached.
	root, err := os.OpenRoot(server.inside(server.dataDir))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	fill(t, root)
	large := strings.Repeat("x", 500<<10)
	for i := 0; c.create(ctx, "/api/v1/namespaces/default/configmaps", map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("large-%d", i)},
		"data": map[string]any{"large": large},
	}).code != 0; i++ {
	}
	<-server.ended
	running.Wait()
	want := "etcd cannot write its data: "
	lines := strings.Split(server.output.String(), "\n")
	if last := lines[len(lines)-1]; !strings.Contains(last, want) || !strings.Contains(last, "free space") {
		t.Errorf("the server stopped with:\n%s", server.output)
	}
	if err := root.Remove("ballast"); err != nil {
		t.Fatal(err)
	}
	saved := filepath.Join(t.TempDir(), "saved")
	if err := os.CopyFS(saved, root.FS()); err != nil {
		t.Fatal(err)
	}
	again := newServer(saved)
	server.dataDir, server.flags = again.dataDir, again.flags
	server.start(t)
	ledger.settle(t, server.client.Load())
	t.Logf("%d acknowledged writes, %d without an answer", ledger.count.Load(), ledger.opened.Load())
}

// fill writes a file until the disk is full.
func fill(t *testing.T, root *os.Root) {
	t.Helper()
	file, err := root.Create("ballast")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if _, err := io.Copy(file, zeros{}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
}

// zeros is a reader without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A server whose disk is read-only does not start, and says what to do.
func TestDiskReadOnly(t *testing.T) {
	t.Parallel()
	first := newServer(t.TempDir())
	first.start(t)
	first.kill()
	server := startOnSmallDisk(t, first.dataDir, "ro")
	_, err := server.firstLine()
	if err == nil {
		t.Fatal("the server started on a read-only disk")
	}
	text := server.output.String()
	if strings.Contains(text, "\n") || !strings.Contains(text, "read-only file system") {
		t.Errorf("the server stopped with:\n%s", text)
	}
}
