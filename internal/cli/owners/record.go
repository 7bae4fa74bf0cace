package owners

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

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
	moves  []recordedMove
	// torn tells that the last line is the beginning of one. Its run was killed before it sent the request.
	torn bool
	// size is the number of bytes before a torn line.
	size int64
	file *os.File
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

// readRecord reads a record. A file that does not exist has no lines.
func readRecord(path string) (*record, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &record{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	r := &record{}
	for number := 1; len(data) > 0; number++ {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		if !whole {
			// Only a header that was cut off may begin a file without a whole line.
			if number == 1 && !bytes.HasPrefix(line, cut(headerStart, len(line))) {
				return nil, fmt.Errorf("record %s: not a record of holdfast transfer", path)
			}
			r.torn = true
			break
		}
		if err := r.add(line, number); err != nil {
			return nil, fmt.Errorf("record %s: %w", path, err)
		}
		r.size += int64(len(line) + 1)
		data = rest
	}
	return r, nil
}

// headerStart is how every record begins.
var headerStart = []byte(`{"record":"` + recordFormat + `"`)

func cut(text []byte, length int) []byte { return text[:min(length, len(text))] }

// add adds a line of the file.
func (r *record) add(line []byte, number int) error {
	if number == 1 {
		if !bytes.HasPrefix(line, headerStart) {
			return errors.New("not a record of holdfast transfer")
		}
		if err := strict(line, &r.header); err != nil {
			return fmt.Errorf("line 1: %w", err)
		}
		return nil
	}
	var move recordedMove
	if err := strict(line, &move); err != nil {
		return fmt.Errorf("line %d: %w", number, err)
	}
	if move.UID == "" || move.Name == "" || move.Resource == "" || move.Empty() {
		return fmt.Errorf("line %d: not a move", number)
	}
	r.moves = append(r.moves, move)
	return nil
}

func strict(line []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// openRecord opens a record for a run. A file of an earlier run must have the same header. The beginning of a line is cut off.
func openRecord(path string, header recordHeader) (*record, error) {
	r, err := readRecord(path)
	if err != nil {
		return nil, err
	}
	if r.size > 0 {
		if err := header.compare(r.header); err != nil {
			return nil, fmt.Errorf("record %s: %w", path, err)
		}
	}
	if r.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	if err := r.begin(path, header); err != nil {
		_ = r.file.Close()
		return nil, fmt.Errorf("record: %w", err)
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

// compare says in what an earlier run differs from this one.
func (h recordHeader) compare(earlier recordHeader) error {
	if h.Cluster != earlier.Cluster {
		return fmt.Errorf("it is of another cluster: the UID of its namespace kube-system is %q, that of this cluster is %q",
			earlier.Cluster, h.Cluster)
	}
	now, before := reflect.ValueOf(h), reflect.ValueOf(earlier)
	for i := range now.NumField() {
		one, other := now.Field(i), before.Field(i)
		if one.Kind() == reflect.Slice && one.Len() == 0 && other.Len() == 0 || reflect.DeepEqual(one.Interface(), other.Interface()) {
			continue
		}
		return fmt.Errorf("it is of a run with another %s: %s, not %s: run the same command again, or name another file",
			now.Type().Field(i).Name, text(other.Interface()), text(one.Interface()))
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
