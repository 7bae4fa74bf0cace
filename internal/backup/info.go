package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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
	// Encryption says which keys the stored objects need. Backups of the first versions do not say it.
	Encryption *Encryption `json:"encryption,omitempty"`
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

// Encryption says which keys the objects of a backup need, and which keys the backup has. A key is named by its
// provider and its name in Kubernetes' EncryptionConfiguration, such as secretbox/first.
type Encryption struct {
	// Needed are the keys that objects are encrypted with.
	Needed []string `json:"needed"`
	// Present are the keys in the EncryptionConfiguration of the backup. The key of a KMS provider is not in
	// the configuration, only its name and address are.
	Present []string `json:"present"`
}

// Missing returns the keys that objects need and the backup does not have.
func (e Encryption) Missing() []string { return without(e.Needed, e.Present) }

// Unused returns the keys that the backup has and no object needs.
func (e Encryption) Unused() []string { return without(e.Present, e.Needed) }

// Remote returns the keys that objects need and that are in a KMS.
func (e Encryption) Remote() []string {
	return slices.DeleteFunc(slices.Clone(e.Needed), func(key string) bool { return !strings.HasPrefix(key, "kms/") })
}

// without returns the keys that are not among others.
func without(keys, others []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return slices.Contains(others, key) })
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
