package maintenance

import (
	"os"
	"syscall"
	"time"
)

// syncLimit is how long DiskOf waits for the disk. It is shorter than a client waits for the diagnosis.
const syncLimit = 3 * time.Second

// Disk is the space and the speed of a file system.
type Disk struct {
	// Path is a directory in the file system.
	Path       string `json:"path"`
	FreeBytes  uint64 `json:"freeBytes"`
	TotalBytes uint64 `json:"totalBytes"`
	// SyncSeconds is how long it took until a small file was on the disk.
	SyncSeconds float64 `json:"syncSeconds"`
	// Hangs says that the file was not on the disk after SyncSeconds.
	Hangs bool `json:"hangs,omitempty"`
	// Error says why a file cannot be written.
	Error string `json:"error,omitempty"`
}

// DiskOf returns the space of the file system of a directory, and tries to write a file. It waits for a disk that hangs, but not
// for longer than seconds.
func DiskOf(dir string) Disk {
	disk := Disk{Path: dir}
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		disk.Error = err.Error()
		return disk
	}
	size := uint64(stat.Bsize)
	disk.FreeBytes, disk.TotalBytes = stat.Bavail*size, stat.Blocks*size
	disk.measure(func() error { return writeProbe(dir) })
	return disk
}

// measure runs a write and records how long it took. A write that hangs goes on in the background.
func (d *Disk) measure(write func() error) {
	begin, done := time.Now(), make(chan error, 1)
	go func() { done <- write() }()
	select {
	case err := <-done:
		if err != nil {
			d.Error = err.Error()
		}
	case <-time.After(syncLimit):
		d.Hangs = true
	}
	d.SyncSeconds = time.Since(begin).Seconds()
}

// writeProbe writes a small file to the disk, and removes it.
func writeProbe(dir string) error {
	file, err := os.CreateTemp(dir, ".writable-")
	if err != nil {
		return err
	}
	defer func() {
		_ = file.Close()
		_ = os.Remove(file.Name())
	}()
	if _, err := file.WriteString("holdfast"); err != nil {
		return err
	}
	return file.Sync()
}
