package faults_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/waittest"
)

// pausedVariable makes a program of this package pause before it begins, so that its clock can be set first.
const pausedVariable = "HOLDFAST_FAULTS_PAUSED"

func pauseSelf() { _ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) }

// clockCode replaces the function of the vDSO with which a program reads its clocks. It asks the kernel, and adds seconds to the answer if
// the clock is that of the wall (0): the monotonic clock runs on, as it does when the clock of a machine is set.
//
//	mov eax, 228   b8 e4 00 00 00        clock_gettime(edi, rsi)
//	syscall        0f 05
//	test edi, edi  85 ff
//	jne +7         75 07
//	add [rsi], n   48 81 06 n n n n
//	ret            c3
var clockCode = []byte{0xb8, 0xe4, 0, 0, 0, 0x0f, 0x05, 0x85, 0xff, 0x75, 0x07, 0x48, 0x81, 0x06, 0, 0, 0, 0, 0xc3}

// secondsAt is the place of the added seconds in clockCode.
const secondsAt = 14

// setClock sets the wall clock of the process: it is the clock of this machine plus the offset. It skips the test on a machine where
// that is not possible.
func (p *process) setClock(t *testing.T, offset time.Duration) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the code that replaces the clock is for amd64")
	}
	pid := p.cmd.Process.Pid
	start, end, err := vdso(pid)
	if err != nil {
		t.Fatal(err)
	}
	// No thread may be inside of the code that is replaced.
	waittest.Until(t, "the process is paused outside of the code of the clock", func() error {
		p.pause(t)
		err := pausedOutside(pid, start, end)
		if err != nil {
			p.resume()
		}
		return err
	})
	defer p.resume()
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if errors.Is(err, os.ErrPermission) {
		t.Skip("this machine does not allow to change the memory of another process: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = memory.Close() }()
	at, err := clockFunction(memory, start, end)
	if err != nil {
		t.Fatal(err)
	}
	code := bytes.Clone(clockCode)
	binary.LittleEndian.PutUint32(code[secondsAt:], uint32(int32(offset/time.Second)))
	if _, err := memory.WriteAt(code, at); err != nil {
		t.Fatal(err)
	}
}

// vdso returns the addresses of the vDSO of a process, which has the functions that read clocks without a system call.
func vdso(pid int) (start, end int64, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "[vdso]") {
			_, err := fmt.Sscanf(line, "%x-%x", &start, &end)
			return start, end, err
		}
	}
	return 0, 0, fmt.Errorf("process %d has no vDSO", pid)
}

// pausedOutside returns an error if a thread of the process runs, or is paused between two addresses.
func pausedOutside(pid int, start, end int64) error {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil || len(threads) == 0 {
		return fmt.Errorf("threads of process %d: %w", pid, err)
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread + "/stat")
		if err != nil {
			return err
		}
		_, state, _ := strings.Cut(string(stat), ") ")
		if !strings.HasPrefix(state, "T") {
			return fmt.Errorf("%s is not paused", thread)
		}
		// The last field is the address of the next instruction.
		call, err := os.ReadFile(thread + "/syscall")
		if err != nil {
			return err
		}
		fields := strings.Fields(string(call))
		next, err := strconv.ParseInt(strings.TrimPrefix(fields[len(fields)-1], "0x"), 16, 64)
		if err != nil || next >= start && next < end {
			return fmt.Errorf("%s is paused at %s", thread, fields[len(fields)-1])
		}
	}
	return nil
}

// clockFunction returns the address of the function that reads clocks.
func clockFunction(memory *os.File, start, end int64) (int64, error) {
	image := make([]byte, end-start)
	if _, err := memory.ReadAt(image, start); err != nil {
		return 0, err
	}
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return 0, err
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return 0, err
	}
	for _, symbol := range symbols {
		if symbol.Name == "__vdso_clock_gettime" {
			return start + int64(symbol.Value), nil
		}
	}
	return 0, errors.New("the vDSO has no __vdso_clock_gettime")
}

// launchAt starts a program whose clock has an offset from the beginning. The function end gets the process, and ends it after the test.
func launchAt(t *testing.T, end func(*process), offset time.Duration, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(programs, name), args...)
	cmd.Env = append(os.Environ(), pausedVariable+"=true")
	p, err := launch(cmd)
	if err != nil {
		t.Fatal(err)
	}
	end(p)
	waittest.Until(t, "the program has paused itself", func() error { return pausedOutside(cmd.Process.Pid, 0, 0) })
	p.setClock(t, offset)
}
