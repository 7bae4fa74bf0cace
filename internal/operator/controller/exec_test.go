package controller

import (
	"archive/tar"
	"bytes"
	"io"
	"strings"
	"testing"
)

// archive returns a tar archive of files. A header without a size gets that of the content.
func archive(t *testing.T, files ...tar.Header) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	writer := tar.NewWriter(&out)
	for _, header := range files {
		content := strings.Repeat("x", int(header.Size))
		if err := writer.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(writer, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

// The image of a pipe pod decides what its tar prints. The controller takes the content of one regular file of a limited size, and
// never a name or a link from the archive.
func TestHostileArchives(t *testing.T) {
	regular := func(name string, size int64) tar.Header {
		return tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600}
	}
	cut := func(from *bytes.Buffer, at int) *bytes.Buffer { return bytes.NewBuffer(from.Bytes()[:at]) }
	for name, test := range map[string]struct {
		archive *bytes.Buffer
		size    int
		want    string
	}{
		"a file":                 {archive: archive(t, regular("./a", 7)), size: 7},
		"another name":           {archive: archive(t, regular("../../../etc/passwd", 7)), size: 7},
		"two files":              {archive: archive(t, regular("./a", 7), regular("./b", 9)), size: 7},
		"the largest file":       {archive: archive(t, regular("./a", maxPipeFile)), size: maxPipeFile},
		"a large file":           {archive: archive(t, regular("./a", maxPipeFile+1)), want: "larger than 1 MiB"},
		"a size without content": {archive: cut(archive(t, regular("./a", 1000)), 600), want: "unexpected EOF"},
		"a huge size":            {archive: cut(hugeHeader(t), 512), want: "larger than 1 MiB"},
		"a link":                 {archive: archive(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "./a", Linkname: "/etc/passwd"}), want: "not a regular file"},
		"a hard link":            {archive: archive(t, tar.Header{Typeflag: tar.TypeLink, Name: "./a", Linkname: "/etc/passwd"}), want: "not a regular file"},
		"a folder":               {archive: archive(t, tar.Header{Typeflag: tar.TypeDir, Name: "./a/"}), want: "not a regular file"},
		"a device":               {archive: archive(t, tar.Header{Typeflag: tar.TypeChar, Name: "./a"}), want: "not a regular file"},
		"nothing":                {archive: &bytes.Buffer{}, want: "output of tar: EOF"},
		"no archive":             {archive: bytes.NewBufferString(strings.Repeat("password ", 200)), want: "output of tar: "},
	} {
		t.Run(name, func(t *testing.T) {
			content, err := unpack(test.archive)
			switch {
			case test.want == "" && (err != nil || len(content) != test.size):
				t.Errorf("got %d bytes, %v, want %d", len(content), err, test.size)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "password")):
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// hugeHeader returns the header of a file of 7 GiB.
func hugeHeader(t *testing.T) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	if err := tar.NewWriter(&out).WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "./a", Size: 7 << 30, Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	return &out
}

// A command that prints without end fills neither the memory nor the message of the plan.
func TestHostileOutput(t *testing.T) {
	ended := 0
	buffer := &limitedBuffer{limit: 1000, full: func() { ended++ }}
	for range 100 {
		if n, err := buffer.Write(make([]byte, 300)); n != 300 || err != nil {
			t.Fatal(n, err)
		}
	}
	if buffer.Len() != 1000 || ended == 0 {
		t.Errorf("%d bytes are kept, the command is ended %d times", buffer.Len(), ended)
	}
}
