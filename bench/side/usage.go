package side

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of the times in /proc on Linux.
const clockTick = 10 * time.Millisecond

// CPU returns the CPU time that the processes of the server have used, also before KillAndStart.
func (s *Server) CPU() (time.Duration, error) {
	var sum time.Duration
	for _, p := range s.processes {
		used, err := ProcessCPU(p.cmd.Process.Pid)
		if err != nil {
			return 0, err
		}
		sum += p.earlier + used
	}
	return sum, nil
}

// ProcessCPU returns the user and system time of a process.
func ProcessCPU(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name of the process, the second field, may contain spaces. It ends with ")".
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	return ticks(fields[11], fields[12])
}

// MachineCPU returns the CPU time that all processes of the machine have used.
func MachineCPU() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	// user, nice and system; then, after idle and iowait, irq and softirq.
	return ticks(fields[1], fields[2], fields[3], fields[6], fields[7])
}

func ticks(fields ...string) (time.Duration, error) {
	var sum time.Duration
	for _, field := range fields {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * clockTick
	}
	return sum, nil
}

// Memory returns the resident memory of the processes, in bytes.
func (s *Server) Memory() (int64, error) { return s.status("VmRSS") }

// PeakMemory returns the highest resident memory since ResetPeak, in bytes. The peaks of two processes are added.
func (s *Server) PeakMemory() (int64, error) { return s.status("VmHWM") }

// status returns a line of /proc/PID/status, summed over the processes.
func (s *Server) status(line string) (int64, error) {
	var sum int64
	for _, p := range s.processes {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
		if err != nil {
			return 0, err
		}
		_, rest, found := strings.Cut(string(text), line+":")
		if !found {
			return 0, fmt.Errorf("process %d has no %s", p.cmd.Process.Pid, line)
		}
		kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		if err != nil {
			return 0, err
		}
		sum += kilobytes << 10
	}
	return sum, nil
}

// ResetPeak makes the resident memory of now the peak.
func (s *Server) ResetPeak() error {
	for _, p := range s.processes {
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid), []byte("5"), 0o200); err != nil {
			return err
		}
	}
	return nil
}

// TotalMemory returns the memory of the machine in bytes.
func TotalMemory() (int64, error) { return machineMemory("MemTotal") }

// AvailableMemory returns the memory that programs can still use before the kernel ends one of them, in bytes.
func AvailableMemory() (int64, error) { return machineMemory("MemAvailable") }

func machineMemory(line string) (int64, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(text), line+":")
	if !found {
		return 0, fmt.Errorf("/proc/meminfo has no %s", line)
	}
	kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	return kilobytes << 10, err
}
