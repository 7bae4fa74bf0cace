package faults_test

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// slowDisk delays every sync of a process to its disk. The kernel tells this process about each fsync and fdatasync of the other one
// (seccomp with a listener), and continues the call when this process answers.
type slowDisk struct {
	// wait returns how long the next sync takes longer. It may be nil.
	wait   atomic.Pointer[func() time.Duration]
	syncs  atomic.Int64
	listen int
}

// notification and reply are structs of the kernel: seccomp_notif and seccomp_notif_resp.
type notification struct {
	id         uint64
	pid, flags uint32
	number     int32
	arch       uint32
	pointer    uint64
	args       [6]uint64
}

type reply struct {
	id    uint64
	value int64
	error int32
	flags uint32
}

// launch starts a program on the slow disk. It skips the test if the kernel does not allow it.
func (d *slowDisk) launch(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	var p *process
	var err error
	var once sync.WaitGroup
	once.Go(func() {
		// The filter is of this thread, and a program that it starts inherits it. The thread ends with the goroutine.
		runtime.LockOSThread()
		if d.listen, err = filterSyncs(); err == nil {
			p, err = launch(cmd)
		}
	})
	once.Wait()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EBUSY) {
		t.Skip("this machine does not allow to delay the calls of another process: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	go d.serve(p)
	return p
}

// filterSyncs makes the kernel ask a listener about every sync of this thread and of the programs that it starts.
func filterSyncs() (listener int, err error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 2, K: unix.SYS_FSYNC},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: unix.SYS_FDATASYNC},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	// With the second flag, a signal to the other process does not interrupt a call that waits for its answer.
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	made, _, failed := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
	if failed != 0 {
		return 0, failed
	}
	unix.CloseOnExec(int(made))
	return int(made), nil
}

// serve answers the kernel until the process ends.
func (d *slowDisk) serve(p *process) {
	defer func() { _ = unix.Close(d.listen) }()
	for {
		ready := []unix.PollFd{{Fd: int32(d.listen), Events: unix.POLLIN}}
		if n, err := unix.Poll(ready, 100); err != nil && !errors.Is(err, unix.EINTR) || n > 0 && ready[0].Revents&unix.POLLIN == 0 {
			return
		} else if n <= 0 {
			select {
			case <-p.ended:
				return
			default:
				continue
			}
		}
		var call notification
		_, _, failed := unix.Syscall(unix.SYS_IOCTL, uintptr(d.listen), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&call)))
		if failed != 0 {
			continue // the call was interrupted
		}
		d.syncs.Add(1)
		go d.answer(call.id)
	}
}

// answer continues a call after the delay.
func (d *slowDisk) answer(id uint64) {
	if wait := d.wait.Load(); wait != nil {
		time.Sleep((*wait)())
	}
	r := reply{id: id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(d.listen), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
}

// The disk of a server becomes slow: each sync takes up to two seconds longer. The server answers every write, stays ready and serves
// reads, and `holdfast doctor` names the disk. When the disk is fast again, so is the server.
func TestSlowDisk(t *testing.T) {
	t.Parallel()
	s := newSeed(t)
	server := newServer(filepath.Join(t.TempDir(), "data"))
	disk := &slowDisk{}
	server.process = disk.launch(t, exec.Command(filepath.Join(programs, "holdfast"), server.flags...))
	if _, err := server.firstLine(); err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(server.dataDir, "admin.kubeconfig")
	c, err := newClient(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	prepare(t, c)
	ledger := newLedger()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, w := range newWriters(s, ledger) {
		running.Go(func() {
			for ctx.Err() == nil {
				// A write that waits for the disk longer than etcd does is answered with that, and may be stored.
				a := w.write(ctx, t, c)
				if a.outcome == open && !strings.Contains(a.err.Error(), "etcdserver: request timed out") && ctx.Err() == nil {
					t.Errorf("%s: %v", w.resource, a.err)
				}
			}
		})
	}
	reach := func(count int64) {
		t.Helper()
		eventually(t, func() error {
			if a := c.get(ctx, "/api/v1/namespaces/default/configmaps"); a.err != nil {
				t.Errorf("a list: %v", a.err)
			}
			if ledger.count.Load() < count {
				return errTooFew
			}
			return nil
		})
	}
	reach(50)
	delays, lock := s.random("delays"), sync.Mutex{}
	slow := func() time.Duration {
		lock.Lock()
		defer lock.Unlock()
		return 200*time.Millisecond + time.Duration(delays.Int64N(int64(1800*time.Millisecond)))
	}
	disk.wait.Store(&slow)
	begin, syncs := time.Now(), disk.syncs.Load()
	reach(ledger.count.Load() + int64(either(10, 1000)))
	if err := c.rest.Get().RequestURI("/readyz").Do(t.Context()).Error(); err != nil {
		t.Error(err)
	}
	doctor := exec.Command(filepath.Join(programs, "holdfast"), "doctor", "--kubeconfig", kubeconfig)
	if out, err := doctor.CombinedOutput(); err == nil || !strings.Contains(string(out), "to reach the disk") {
		t.Errorf("holdfast doctor: %v\n%s", err, out)
	}
	took, delayed := time.Since(begin), disk.syncs.Load()-syncs
	disk.wait.Store(nil)
	reach(ledger.count.Load() + 100)
	cancel()
	running.Wait()
	ledger.settle(t, c)
	t.Logf("%d acknowledged writes; %d slow syncs in %s", ledger.count.Load(), delayed, took.Round(time.Second))
}
