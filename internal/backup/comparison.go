package backup

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
)

// comparison compares the bytes of a backup with those that a Writer writes for the same entries. The
// reader of package tar ignores some bytes: the ends of blocks, and everything behind the first block of
// zeros.
type comparison struct {
	// input is the backup, for the reader of the entries.
	input io.Reader
	// got are the bytes of input that are not compared yet, and want those that they must be.
	got, want bytes.Buffer
	archive   *tar.Writer
	// modified is the time of the entries.
	modified time.Time
}

func newComparison(r io.Reader) *comparison {
	c := &comparison{}
	c.input = io.TeeReader(r, &c.got)
	c.archive = tar.NewWriter(&c.want)
	return c
}

// entry compares an entry that was read.
func (c *comparison) entry(header *tar.Header, content []byte) error {
	if c.modified.IsZero() {
		c.modified = header.ModTime
	}
	if err := writeEntry(c.archive, entry{header.Name, content, c.modified}); err != nil {
		return damaged(header.Name, err)
	}
	if err := c.archive.Flush(); err != nil {
		return damaged(header.Name, err)
	}
	return c.compare(header.Name)
}

// end compares what follows the last entry: two blocks of zeros, and perhaps more zeros. created is the time
// of the backup, which its entries have.
func (c *comparison) end(created time.Time) error {
	if !c.modified.Equal(modTime(created)) {
		return fmt.Errorf("the backup is damaged: %s has another time than the other entries", indexName)
	}
	if err := c.archive.Close(); err != nil {
		return damaged(indexName, err)
	}
	_, err := io.CopyN(io.Discard, c.input, int64(c.want.Len()-c.got.Len()))
	switch {
	case errors.Is(err, io.EOF):
		return errIncomplete
	case err != nil:
		return fmt.Errorf("read the backup: %w", err)
	}
	if err := c.compare(indexName); err != nil {
		return err
	}
	for {
		n, err := io.CopyN(io.Discard, c.input, partSize)
		if rest := c.got.Next(int(n)); len(bytes.Trim(rest, "\x00")) > 0 {
			return errors.New("the backup is damaged: more than zeros follows its end")
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the backup: %w", err)
		}
	}
}

// compare compares the bytes that are in both buffers, and removes them.
func (c *comparison) compare(name string) error {
	n := min(c.got.Len(), c.want.Len())
	if !bytes.Equal(c.got.Next(n), c.want.Next(n)) {
		return damaged(name, errors.New("it is not as a backup has it, or more follows it"))
	}
	return nil
}

func damaged(name string, err error) error {
	return fmt.Errorf("the backup is damaged: %s: %w", name, err)
}
