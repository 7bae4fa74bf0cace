package openapi

import (
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"fmt"
	"io"
	"sync"
	"time"

	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/handler3"
)

// Build returns a document as JSON.
type Build func() ([]byte, error)

// Document is an OpenAPI document. It is safe for concurrent use.
type Document struct {
	version version
	build   Build
	changed time.Time

	// identify returns the hash of the document before it is built. If it is nil, the hash is that of
	// the content.
	identify func() string

	mu sync.Mutex
	// hash is empty until Hash or json sets it.
	hash string
	// encodings are the compressed encodings that clients asked for, by media type.
	encodings map[string][]byte
}

// version is a version of OpenAPI.
type version struct {
	// protobuf is the media type of the protobuf encoding, and accepted what clients call it.
	protobuf string
	accepted []string
	// encode turns JSON into protobuf.
	encode func([]byte) ([]byte, error)
}

const jsonType = "application/json"

// NewV2 returns a document of OpenAPI version 2.
func NewV2(build Build) *Document {
	const name = "application/com.github.proto-openapi.spec.v2"
	return newDocument(version{
		protobuf: name + ".v1.0+protobuf", accepted: []string{name + "@v1.0+protobuf", name + ".v1.0+protobuf"},
		encode: handler.ToProtoBinary,
	}, nil, build)
}

// NewV3 returns a document of OpenAPI version 3. identify returns a hash that changes whenever the
// content of the document does. If it is nil, the document is built to find its hash.
func NewV3(identify func() string, build Build) *Document {
	const name = "application/com.github.proto-openapi.spec.v3"
	return newDocument(version{
		protobuf: name + ".v1.0+protobuf", accepted: []string{name + ".v1.0+protobuf", name + "@v1.0+protobuf"},
		encode: handler3.ToV3ProtoBinary,
	}, identify, build)
}

func newDocument(v version, identify func() string, build Build) *Document {
	// HTTP counts the time of the last change in seconds.
	changed := time.Now().Truncate(time.Second)
	return &Document{version: v, build: build, changed: changed, identify: identify, encodings: map[string][]byte{}}
}

// Hash returns the hash of the document.
func (d *Document) Hash() (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hash == "" && d.identify != nil {
		d.hash = d.identify()
	}
	if d.hash == "" {
		if _, err := d.json(); err != nil {
			return "", err
		}
	}
	return d.hash, nil
}

// encoded returns the compressed encoding of a media type.
func (d *Document) encoded(mediaType string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if data := d.encodings[mediaType]; data != nil {
		return data, nil
	}
	data, err := d.json()
	if err != nil {
		return nil, err
	}
	if mediaType != jsonType {
		if data, err = d.version.encode(data); err != nil {
			return nil, err
		}
		if err := d.keep(mediaType, data); err != nil {
			return nil, err
		}
	}
	return d.encodings[mediaType], nil
}

// json returns the document as JSON. The first call builds it. The caller holds the lock.
func (d *Document) json() ([]byte, error) {
	if kept := d.encodings[jsonType]; kept != nil {
		return decompress(kept)
	}
	data, err := d.build()
	if err != nil {
		return nil, err
	}
	if d.identify == nil {
		d.hash = Hash(data)
	}
	return data, d.keep(jsonType, data)
}

// keep compresses an encoding and keeps it.
func (d *Document) keep(mediaType string, data []byte) error {
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	if _, err := writer.Write(data); err != nil {
		return err
	}
	if err := writer.Close(); err != nil {
		return err
	}
	d.encodings[mediaType] = bytes.Clone(out.Bytes())
	return nil
}

func decompress(data []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}

// Hash returns the hash of a content.
func Hash(content []byte) string { return fmt.Sprintf("%X", sha512.Sum512(content)) }
