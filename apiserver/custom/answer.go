package custom

import (
	"bytes"
	"io"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/apiserver/deflate"
)

// flushSize is the size at which the encoder of a list writes its buffer.
const flushSize = 64 << 10

// answerEncoder encodes objects and lists of objects that already have the version of the
// answer. All other answers go to the converting encoder. For a list, that encoder would
// first copy every item.
type answerEncoder struct {
	converting runtime.Encoder
	version    *version
	format     format
	buffers    *buffers
	// texts is nil if the answer may differ from the stored object.
	texts *texts
	// partial is the form of a LIST that holds only metadata, nil for whole objects.
	partial *partial
	// header is the header of an answer that this encoder may compress, else nil.
	header      http.Header
	compressors *deflate.Pool
}

// Identifier implements runtime.Encoder.
func (a answerEncoder) Identifier() runtime.Identifier { return a.converting.Identifier() }

// Encode implements runtime.Encoder.
func (a answerEncoder) Encode(obj runtime.Object, w io.Writer) error {
	switch obj := obj.(type) {
	case *object:
		if a.inVersion(obj) {
			return a.write(w, func(out *answer) error { return out.object(obj) })
		}
	case *objectList:
		if a.partial == nil && !a.allInVersion(obj) {
			break
		}
		if a.header != nil && a.isLong(obj) {
			return a.writePacked(w, obj)
		}
		return a.write(w, func(out *answer) error { return out.list(obj) })
	}
	return a.converting.Encode(obj, w)
}

func (a answerEncoder) inVersion(obj *object) bool {
	return obj.GetAPIVersion() == a.version.groupVersion().String()
}

func (a answerEncoder) allInVersion(list *objectList) bool {
	want := a.version.groupVersion().String()
	for i := range list.Items {
		if list.Items[i].GetAPIVersion() != want {
			return false
		}
	}
	return list.GetAPIVersion() == want
}

// write calls encode with a buffer that goes to w, and ends the answer with a newline.
func (a answerEncoder) write(w io.Writer, encode func(*answer) error) error {
	buffer := a.buffers.get()
	out := &answer{answerEncoder: a, w: w, data: *buffer}
	err := encode(out)
	out.data = append(out.data, '\n')
	if err == nil {
		err = out.flush()
	}
	a.buffers.put(buffer, out.data)
	return err
}

// answer is the text of one answer, without compression.
type answer struct {
	answerEncoder
	w    io.Writer
	data []byte
}

// object appends the text of an object.
func (o *answer) object(obj *object) (err error) {
	o.data, err = o.appendObject(o.data, obj)
	return err
}

// list appends the text of a list. The first write has one byte: the response writer of the
// library then collects the text until it is long enough to be compressed. It takes a longer
// first write for the whole answer.
func (o *answer) list(list *objectList) error {
	around, err := o.frame(list)
	if err != nil {
		return err
	}
	o.data = append(o.data, around.head[:1]...)
	if err := o.flush(); err != nil {
		return err
	}
	o.data = append(o.data, around.head[1:]...)
	for i := range list.Items {
		o.data = append(o.data, around.before(i)...)
		if err := o.object(&list.Items[i]); err != nil {
			return err
		}
		if len(o.data) < flushSize {
			continue
		}
		if err := o.flush(); err != nil {
			return err
		}
	}
	o.data = append(o.data, around.end()...)
	return nil
}

func (o *answer) flush() error {
	_, err := o.w.Write(o.data)
	o.data = o.data[:0]
	return err
}

// appendObject appends the text of an object to a buffer, from the cache if possible.
func (a answerEncoder) appendObject(to []byte, obj *object) ([]byte, error) {
	if text := a.cached(obj); text.plain != nil {
		return append(to, text.plain...), nil
	}
	from := len(to)
	to, err := a.encode(to, obj)
	if err == nil && a.texts != nil {
		a.cache(obj, cachedText{plain: bytes.Clone(to[from:])})
	}
	return to, err
}

// encode appends the text of an object, or that of its metadata, to a buffer.
func (a answerEncoder) encode(to []byte, obj *object) ([]byte, error) {
	if a.partial != nil {
		return a.partial.appendMetadata(to, obj)
	}
	return a.format.Append(to, obj.Object)
}

// cached returns the text of an object from the cache.
func (a answerEncoder) cached(obj *object) cachedText {
	if a.texts == nil {
		return cachedText{}
	}
	return a.texts.get(a.key(obj), obj.GetResourceVersion())
}

func (a answerEncoder) key(obj *object) textKey {
	key := textKey{version: a.version, uid: obj.GetUID()}
	if a.partial != nil {
		key.partial = a.partial.version.Version
	}
	return key
}

// cache caches the text of an object, if the object can be identified.
func (a answerEncoder) cache(obj *object, text cachedText) {
	key := a.key(obj)
	text.resourceVersion = obj.GetResourceVersion()
	if a.texts != nil && key.uid != "" && text.resourceVersion != "" {
		a.texts.add(key, text)
	}
}
