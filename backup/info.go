package backup

import (
	"crypto/sha256"
	"encoding/hex"
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

func describe(name string, content []byte) File {
	sum := sha256.Sum256(content)
	return File{Name: name, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
}
