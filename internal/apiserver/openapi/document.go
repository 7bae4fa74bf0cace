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

	"holdfast.dev/holdfast/internal/apiserver/deflate"
)

// Build returns a document as JSON.
type Build func() ([]byte, error)

// Document is an OpenAPI document. It is safe for concurrent use.
type Document struct {
	version version
	// build returns the compressed JSON of the document, and the hash of its content.
	build   func() (packed []byte, hash string, err error)
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
func NewV2(build Build) *Document { return newDocument(version2(), nil, build.compressed) }

// NewV2Pieces returns a document of OpenAPI version 2 that is made of pieces. Their texts, one after the other, are its JSON.
func NewV2Pieces(build func() ([]deflate.Piece, error)) *Document {
	return newDocument(version2(), nil, func() (packed []byte, hash string, err error) {
		pieces, err := build()
		if err != nil {
			return nil, "", err
		}
		packed = deflate.Join(pieces)
		return packed, Hash(packed), nil
	})
}

func version2() version {
	const name = "application/com.github.proto-openapi.spec.v2"
	return version{
		protobuf: name + ".v1.0+protobuf", accepted: []string{name + "@v1.0+protobuf", name + ".v1.0+protobuf"},
		encode: handler.ToProtoBinary,
	}
}

// NewV3 returns a document of OpenAPI version 3. identify returns a hash that changes whenever the
// content of the document does. If it is nil, the document is built to find its hash.
func NewV3(identify func() string, build Build) *Document {
	const name = "application/com.github.proto-openapi.spec.v3"
	return newDocument(version{
		protobuf: name + ".v1.0+protobuf", accepted: []string{name + ".v1.0+protobuf", name + "@v1.0+protobuf"},
		encode: handler3.ToV3ProtoBinary,
	}, identify, build.compressed)
}

// compressed builds a document, compresses it, and computes the hash of its content.
func (b Build) compressed() (packed []byte, hash string, err error) {
	data, err := b()
	if err != nil {
		return nil, "", err
	}
	packed, err = compress(data)
	return packed, Hash(data), err
}

func newDocument(v version, identify func() string, build func() ([]byte, string, error)) *Document {
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
	packed, err := d.json()
	if err != nil || mediaType == jsonType {
		return packed, err
	}
	text, err := decompress(packed)
	if err != nil {
		return nil, err
	}
	data, err := d.version.encode(text)
	if err != nil {
		return nil, err
	}
	packed, err = compress(data)
	if err == nil {
		d.encodings[mediaType] = packed
	}
	return packed, err
}

// json returns the compressed JSON of the document. The first call builds it. The caller holds the lock.
func (d *Document) json() ([]byte, error) {
	if kept := d.encodings[jsonType]; kept != nil {
		return kept, nil
	}
	packed, hash, err := d.build()
	if err != nil {
		return nil, err
	}
	if d.identify == nil {
		d.hash = hash
	}
	d.encodings[jsonType] = packed
	return packed, nil
}

// compress returns data as a gzip stream.
func compress(data []byte) ([]byte, error) {
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	if _, err := writer.Write(data); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return bytes.Clone(out.Bytes()), nil
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
