package bundle

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"
)

// links are the names under which the program is a plugin of kubectl. Under the last two names,
// kubectl asks it for completions.
var links = []string{"kubectl-holdfast", "kubectl-kudo", "kubectl_complete-holdfast", "kubectl_complete-kudo"}

// archive is the archive with the program for one platform.
type archive struct {
	Platform
	// Name is the name of the file, and SHA256 its checksum in hexadecimal.
	Name, SHA256 string
}

// writeArchive writes the archive for one platform: the program, its links and the license.
func (r Release) writeArchive(b Binary) (archive, error) {
	made := archive{Platform: b.Platform, Name: r.name(b.Platform, ".tar.gz")}
	entries := []entry{{name: program, mode: 0o755, file: b.Path}}
	for _, link := range links {
		entries = append(entries, entry{name: link, link: program})
	}
	entries = append(entries, entry{name: "LICENSE", mode: 0o644, file: filepath.Join(r.Source, "LICENSE")})
	sum := sha256.New()
	err := create(filepath.Join(r.Out, made.Name), func(file io.Writer) error {
		zipped := gzip.NewWriter(io.MultiWriter(file, sum))
		return errors.Join(writeTar(zipped, r.Date, entries), zipped.Close())
	})
	made.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return made, err
}

// entry is a file, a folder or a link in a tar archive.
type entry struct {
	name string
	mode int64
	// link is the target of a link. file is the path of the content, or content is the
	// content itself. An entry without any of them is a folder.
	link, file string
	content    []byte
	// owner is the number of the user and of the group.
	owner int
}

// writeTar writes the entries as a tar archive. Every entry has the same time.
func writeTar(to io.Writer, date time.Time, entries []entry) error {
	w := tar.NewWriter(to)
	for _, e := range entries {
		if err := e.writeTo(w, date); err != nil {
			return err
		}
	}
	return w.Close()
}

func (e entry) writeTo(w *tar.Writer, date time.Time) error {
	header := &tar.Header{Name: e.name, Mode: e.mode, ModTime: date, Uid: e.owner, Gid: e.owner, Format: tar.FormatPAX}
	var content io.Reader
	switch {
	case e.link != "":
		header.Typeflag, header.Linkname, header.Mode = tar.TypeSymlink, e.link, 0o777
	case e.file != "":
		file, err := os.Open(e.file)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		info, err := file.Stat()
		if err != nil {
			return err
		}
		header.Typeflag, header.Size, content = tar.TypeReg, info.Size(), file
	case e.content != nil:
		header.Typeflag, header.Size = tar.TypeReg, int64(len(e.content))
	default:
		header.Typeflag = tar.TypeDir
	}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	if content == nil {
		_, err := w.Write(e.content)
		return err
	}
	_, err := io.Copy(w, content)
	return err
}

// create writes a file and reports the error of its close.
func create(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
