package backup

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"time"
)

// partSize is the size of the parts of a stream.
const partSize = 1 << 20

// Writer writes a backup. The backup is complete when Close has returned without an error.
type Writer struct {
	archive *tar.Writer
	info    Info
}

// NewWriter returns a Writer that writes to w. It does not close w.
func NewWriter(w io.Writer, info Info) *Writer {
	info.Format = format
	return &Writer{archive: tar.NewWriter(w), info: info}
}

// File adds a file.
func (w *Writer) File(name string, content []byte) error {
	if err := w.entry(name, content); err != nil {
		return err
	}
	w.info.Files = append(w.info.Files, describe(name, content))
	return nil
}

// Stream adds a file. It reads until the end of r, and need not know the length before.
func (w *Writer) Stream(name string, r io.Reader) error {
	part := make([]byte, partSize)
	for number := 0; ; number++ {
		n, err := io.ReadFull(r, part)
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ended {
			return fmt.Errorf("read %s: %w", name, err)
		}
		// An empty stream has one empty part, so that the file exists.
		if n > 0 || number == 0 {
			if err := w.File(fmt.Sprintf("%s/%06d", name, number), part[:n]); err != nil {
				return err
			}
		}
		if ended {
			return nil
		}
	}
}

// Close adds the last entry.
func (w *Writer) Close() error {
	text, err := w.info.text()
	if err != nil {
		return err
	}
	if err := w.entry(indexName, text); err != nil {
		return err
	}
	return w.archive.Close()
}

func (w *Writer) entry(name string, content []byte) error {
	return writeEntry(w.archive, entry{name, content, w.info.Created})
}

// entry is an entry of the archive.
type entry struct {
	name     string
	content  []byte
	modified time.Time
}

// writeEntry adds an entry to an archive.
func writeEntry(to *tar.Writer, e entry) error {
	header := &tar.Header{Name: e.name, Size: int64(len(e.content)), Mode: 0o600, ModTime: modTime(e.modified)}
	if err := to.WriteHeader(header); err != nil {
		return err
	}
	_, err := to.Write(e.content)
	return err
}

// modTime returns the time of the entries of a backup, as package tar writes it: in whole seconds.
func modTime(created time.Time) time.Time {
	if created.IsZero() {
		return time.Unix(0, 0)
	}
	return created.Round(time.Second)
}
