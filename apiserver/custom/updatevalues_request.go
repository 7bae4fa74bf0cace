package custom

import (
	"context"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// valueUpdate is a request to update or to patch an object or its status.
type valueUpdate struct {
	valueWrite
	userAgent string
	// received is the object of an update, nil for a patch.
	received *object
	// patch is the body of a merge patch, nil for all other requests.
	patch *recordedBody
	// attempts counts the calls of the storage. The handlers call it a second time, without managed fields, if the object is too large.
	attempts int
}

// wrap returns what the update does with the stored object. library is what the library would do.
func (u *valueUpdate) wrap(library rest.UpdatedObjectInfo, options *metav1.UpdateOptions) rest.UpdatedObjectInfo {
	u.attempts++
	if u.attempts > 1 {
		return library
	}
	u.options = options
	return valueObjectInfo{library, u}
}

// updated returns the updated object after mutating admission. It returns nil if the library must do the write.
func (u *valueUpdate) updated(ctx context.Context, old *object) (*object, error) {
	updated, ok := u.of(old)
	if !ok || old.GetUID() == "" {
		return nil, nil
	}
	w := writer{manager: u.options.FieldManager, operation: "Update", subresource: u.scope.Subresource}
	if w.manager == "" {
		w.manager, _, _ = strings.Cut(u.userAgent, "/")
	}
	if !isPlainManager(w.manager) {
		return nil, nil
	}
	written, ok := u.version.updateValues(old, updated, w)
	if !ok {
		return nil, nil
	}
	return u.admitted(ctx, written, old)
}

// isPlainManager reports whether the library takes a user agent as the name of a manager as it is.
func isPlainManager(name string) bool {
	const longest = 128
	return len(name) <= longest && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' })
}

// of returns the object that the request makes of the stored one, before its managed fields are recorded.
func (u *valueUpdate) of(old *object) (*object, bool) {
	switch {
	case u.received != nil:
		return content(u.received.DeepCopyObject()), true
	case u.patch != nil:
		return u.version.patchValues(old, u.patch.text)
	}
	return nil, false
}

// valueObjectInfo does the work of the library if it can.
type valueObjectInfo struct {
	rest.UpdatedObjectInfo
	values *valueUpdate
}

// UpdatedObject implements rest.UpdatedObjectInfo.
func (o valueObjectInfo) UpdatedObject(ctx context.Context, oldObj runtime.Object) (runtime.Object, error) {
	if updated, err := o.values.updated(ctx, content(oldObj)); updated != nil || err != nil {
		return updated, err
	}
	return o.UpdatedObjectInfo.UpdatedObject(ctx, oldObj)
}

// recordingSerializer records the object that a handler decodes.
type recordingSerializer struct {
	runtime.NegotiatedSerializer
	record func(*object)
}

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (s recordingSerializer) DecoderToVersion(decoder runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	return recordingDecoder{s.NegotiatedSerializer.DecoderToVersion(decoder, gv), s.record}
}

type recordingDecoder struct {
	runtime.Decoder
	record func(*object)
}

// Decode implements runtime.Decoder.
func (d recordingDecoder) Decode(data []byte, defaults *runtimeKind, into runtime.Object) (runtime.Object, *runtimeKind, error) {
	obj, gvk, err := d.Decoder.Decode(data, defaults, into)
	if received, ok := obj.(*object); ok {
		d.record(received)
	}
	return obj, gvk, err
}

// maxRecorded is the size of the largest merge patch that is recorded.
const maxRecorded = 64 << 10

// recordedBody is the body of a request. It records what the handler reads.
type recordedBody struct {
	io.ReadCloser
	// text is the body, empty if it is too large.
	text []byte
	size int
}

// Read implements io.Reader.
func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.size += n; b.size <= maxRecorded {
		b.text = append(b.text, p[:n]...)
	} else {
		b.text = nil
	}
	return n, err
}
