package backup

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	text, err := json.MarshalIndent(w.info, "", "  ")
	if err != nil {
		return err
	}
	if err := w.entry(indexName, text); err != nil {
		return err
	}
	return w.archive.Close()
}

func (w *Writer) entry(name string, content []byte) error {
	header := &tar.Header{Name: name, Size: int64(len(content)), Mode: 0o600, ModTime: w.info.Created}
	if err := w.archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.archive.Write(content)
	return err
}
