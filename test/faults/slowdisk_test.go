package faults_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// slowDisk delays every sync of a server to its disk. The kernel tells this process about each fsync and fdatasync of the server
// (seccomp with a listener), and continues the call when this process answers.
type slowDisk struct {
	// delay returns how much longer the next sync takes. It is nil while the disk is fast.
	delay atomic.Pointer[func() time.Duration]
	// delayed is the number of syncs that took longer.
	delayed  atomic.Int64
	listener int
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

// startOnSlowDisk starts a server whose disk is fast until the test makes it slow. It skips the test if the kernel does not allow that.
func startOnSlowDisk(t *testing.T, s *server) *slowDisk {
	t.Helper()
	d := &slowDisk{}
	var err error
	var launched sync.WaitGroup
	launched.Go(func() {
		// The filter belongs to this thread, and a program that the thread starts inherits it. The thread ends with the goroutine,
		// because the goroutine does not unlock it.
		runtime.LockOSThread()
		if d.listener, err = filterSyncs(); err == nil {
			s.process, err = launch(exec.Command(filepath.Join(programs, "holdfast"), s.flags...))
		}
	})
	launched.Wait()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EBUSY) || errors.Is(err, unix.ENOSYS) {
		t.Skip("this machine does not allow to delay the system calls of another process: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.end(t, s.process)
	go d.serve(s.process)
	s.connect(t)
	return d
}

// filterSyncs makes the kernel ask a listener about every sync of this thread and of the programs that it starts.
func filterSyncs() (listener int, err error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the system call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 2, K: unix.SYS_FSYNC},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: unix.SYS_FDATASYNC},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	// With the second flag, the signals of the Go scheduler do not interrupt a call that waits for its answer.
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	made, _, failed := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
	if failed != 0 {
		return 0, failed
	}
	return int(made), nil
}

// serve answers the kernel until the process ends.
func (d *slowDisk) serve(p *process) {
	for {
		ready := []unix.PollFd{{Fd: int32(d.listener), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, 100)
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return
		case n > 0 && ready[0].Revents&unix.POLLIN != 0:
			d.receive()
			continue
		}
		select {
		case <-p.ended:
			_ = unix.Close(d.listener)
			return
		default:
		}
	}
}

// receive takes one call, and answers it later.
func (d *slowDisk) receive() {
	var call notification
	if err := d.control(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&call)); err != 0 {
		return // a signal has interrupted the call; the process makes it again
	}
	answer := func() {
		r := reply{id: call.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		_ = d.control(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r))
	}
	delay := d.delay.Load()
	if delay == nil {
		answer()
		return
	}
	d.delayed.Add(1)
	time.AfterFunc((*delay)(), answer)
}

func (d *slowDisk) control(command uintptr, argument unsafe.Pointer) unix.Errno {
	_, _, failed := unix.Syscall(unix.SYS_IOCTL, uintptr(d.listener), command, uintptr(argument))
	return failed
}
