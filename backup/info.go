package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

const (
	// format is the version of the file format.
	format = 1
	// indexName is the name of the last entry of the archive. It holds the Info.
	indexName = "backup.json"
)

// Info describes a backup.
type Info struct {
	Format int `json:"format"`
	// Version is the version of the program that wrote the backup.
	Version string    `json:"version"`
	Created time.Time `json:"created"`
	// Files are the entries of the archive in their order.
	Files []File `json:"files"`
	// SHA256 is the digest of the text of the Info without this field. Backups of the first versions have
	// none.
	SHA256 string `json:"sha256,omitempty"`
}

// File is an entry of the archive.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Size returns the size of all entries.
func (i Info) Size() int64 {
	var size int64
	for _, file := range i.Files {
		size += file.Size
	}
	return size
}

// text returns the Info as the last entry has it.
func (i Info) text() ([]byte, error) {
	i.SHA256 = ""
	text, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return nil, err
	}
	i.SHA256 = digest(text)
	return json.MarshalIndent(i, "", "  ")
}

// checkText returns an error unless a text is the one of the Info.
func (i Info) checkText(text []byte) error {
	want, err := i.text()
	if i.SHA256 == "" && err == nil {
		want, err = json.MarshalIndent(i, "", "  ")
	}
	if err != nil {
		return damaged(indexName, err)
	}
	if !bytes.Equal(text, want) {
		return fmt.Errorf("the backup is damaged: %s does not have the content that was written. If version %q of holdfast is newer "+
			"than this program, use that version", indexName, i.Version)
	}
	return nil
}

func describe(name string, content []byte) File {
	return File{Name: name, Size: int64(len(content)), SHA256: digest(content)}
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
