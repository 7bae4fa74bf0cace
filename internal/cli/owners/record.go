package owners

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/managers"
)

// recordFormat is the first field of a record. It tells it from the files of other programs.
const recordFormat = "holdfast transfer 1"

// record is the file of --record: a line of JSON with the flags, and a line for each move, which is written before the request. It
// has no values of fields, so it has none of Secrets.
type record struct {
	header recordHeader
	// lines are the places of the moves in the file.
	lines []line
	// torn tells that the last line is the beginning of one. Its run was killed before it sent the request.
	torn bool
	// size is the number of bytes before a torn line.
	size int64
	// file is locked until it is closed, also by a kill. It is nil if it does not exist.
	file *os.File
}

// line is the place of a line in a file.
type line struct {
	offset int64
	length int
}

// recordHeader is the first line: what the record is about.
type recordHeader struct {
	Format string `json:"record"`
	// Cluster is the UID of the namespace kube-system.
	Cluster string            `json:"cluster"`
	From    []managers.Writer `json:"from"`
	To      managers.Writer   `json:"to"`
	Fields  []string          `json:"fields,omitempty"`
	Preset  string            `json:"preset,omitempty"`
	Types   []string          `json:"types,omitempty"`
	// Namespace is empty for all namespaces.
	Namespace string `json:"namespace,omitempty"`
	Selector  string `json:"selector,omitempty"`
}

// recordedMove is the line of a move.
type recordedMove struct {
	Group      string    `json:"group,omitempty"`
	Version    string    `json:"version"`
	Resource   string    `json:"resource"`
	Namespace  string    `json:"namespace,omitempty"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid"`
	Namespaced bool      `json:"namespaced"`
	managers.Move
}

func (m recordedMove) kind() kind {
	version := schema.GroupVersion{Group: m.Group, Version: m.Version}
	return kind{GroupVersionResource: version.WithResource(m.Resource), namespaced: m.Namespaced}
}

func (m recordedMove) String() string {
	return nameOf(schema.GroupResource{Group: m.Group, Resource: m.Resource}, m.Namespace, m.Name)
}

// readRecord opens a record for reading. A file that does not exist has no lines.
func readRecord(path string) (*record, error) {
	r, err := lockRecord(path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return &record{}, nil
	}
	return r, err
}

// lockRecord opens a file, locks it, and reads it. Two runs with one file would record the moves of each other.
func lockRecord(path string, flags int) (*record, error) {
	file, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	r := &record{file: file}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = errors.New("in use by another holdfast transfer: wait until it ends, or name another file")
	case err != nil:
		err = fmt.Errorf("lock: %w", err)
	default:
		err = r.read()
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("record %s: %w", path, err)
	}
	return r, nil
}

// read reads the header, and checks the moves.
func (r *record) read() error {
	in := bufio.NewReader(r.file)
	for number := 1; ; number++ {
		text, err := in.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && len(text) == 0:
			return nil
		case errors.Is(err, io.EOF) && number == 1 && !bytes.HasPrefix(text, cut(headerStart, len(text))):
			// Only a header that was cut off may begin a file without a whole line.
			return errors.New("not a record of holdfast transfer")
		case errors.Is(err, io.EOF):
			r.torn = true
			return nil
		case err != nil:
			return err
		}
		if err := r.add(text[:len(text)-1], number); err != nil {
			return err
		}
		r.size += int64(len(text))
	}
}

// move reads a move of the file.
func (r *record) move(at line) (recordedMove, error) {
	text := make([]byte, at.length)
	if _, err := r.file.ReadAt(text, at.offset); err != nil {
		return recordedMove{}, err
	}
	var move recordedMove
	return move, strict(text, &move)
}

// headerStart is how every record begins.
var headerStart = []byte(`{"record":"` + recordFormat + `"`)

func cut(text []byte, length int) []byte { return text[:min(length, len(text))] }

// add adds a line of the file.
func (r *record) add(text []byte, number int) error {
	if number == 1 {
		if !bytes.HasPrefix(text, headerStart) {
			return errors.New("not a record of holdfast transfer")
		}
		if err := strict(text, &r.header); err != nil {
			return fmt.Errorf("line 1: %w", err)
		}
		return nil
	}
	var move recordedMove
	if err := strict(text, &move); err != nil {
		return fmt.Errorf("line %d: %w", number, err)
	}
	if move.UID == "" || move.Name == "" || move.Resource == "" || move.Empty() {
		return fmt.Errorf("line %d: not a move", number)
	}
	r.lines = append(r.lines, line{r.size, len(text)})
	return nil
}

func strict(line []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// openRecord opens a record for a run. A file of an earlier run must have the same header. The beginning of a line is cut off.
func openRecord(path string, header recordHeader) (*record, error) {
	r, err := lockRecord(path, os.O_CREATE|os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	if r.size > 0 {
		err = header.compare(r.header)
	}
	if err == nil {
		err = r.begin(path, header)
	}
	if err != nil {
		_ = r.file.Close()
		return nil, fmt.Errorf("record %s: %w", path, err)
	}
	return r, nil
}

// begin makes the file end with a whole line.
func (r *record) begin(path string, header recordHeader) error {
	if r.torn {
		if err := r.file.Truncate(r.size); err != nil {
			return err
		}
	}
	if r.size > 0 {
		return nil
	}
	r.header = header
	if err := r.write(header); err != nil {
		return err
	}
	// Without this, a crash of the machine could lose the name of the file.
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	return dir.Sync()
}

// write writes a line and waits until the disk has it.
func (r *record) write(line any) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if _, err := r.file.Write(append(text, '\n')); err != nil {
		return err
	}
	return r.file.Sync()
}

// isOf returns an error if the record is of another cluster. An empty UID is not known; each move still names the UID of its object.
func (h recordHeader) isOf(cluster string) error {
	if h.Cluster == cluster || h.Cluster == "" || cluster == "" {
		return nil
	}
	return fmt.Errorf("it is of another cluster: the UID of its namespace kube-system is %q, that of this cluster is %q", h.Cluster, cluster)
}

// compare says in what an earlier run differs from this one.
func (h recordHeader) compare(earlier recordHeader) error {
	if err := earlier.isOf(h.Cluster); err != nil {
		return err
	}
	for _, one := range []struct {
		flag        string
		now, before string
	}{
		{"--preset", text(h.Preset), text(earlier.Preset)},
		{"--from", text(h.From), text(earlier.From)},
		{"--to", text(h.To), text(earlier.To)},
		{"--fields", text(h.Fields), text(earlier.Fields)},
		{"types", text(h.Types), text(earlier.Types)},
		{"--namespace or --all-namespaces", text(h.Namespace), text(earlier.Namespace)},
		{"--selector", text(h.Selector), text(earlier.Selector)},
	} {
		if one.now != one.before {
			return fmt.Errorf("it is of a run with other %s: %s, not %s: run the same command again, or name another file",
				one.flag, one.before, one.now)
		}
	}
	return nil
}

func text(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(out)
}
