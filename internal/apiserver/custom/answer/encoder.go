package answer

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
)

// flushSize is the size at which the encoder of a list writes its buffer.
const flushSize = 64 << 10

// answerEncoder encodes objects and lists of objects that already have the version of the
// answer, with texts from the cache. All other answers go to the encoder of the library.
type answerEncoder struct {
	quick   *quick
	library runtime.Encoder
	version *kind.Version
	// texts is the cache of texts, nil if the answer may differ from the stored object.
	texts *texts
	// partial is the form of a LIST that holds only metadata, nil for whole objects.
	partial *partial
	// header is the header of an answer that this encoder may compress, else nil.
	header http.Header
}

// Identifier implements runtime.Encoder.
func (a answerEncoder) Identifier() runtime.Identifier { return a.library.Identifier() }

// Encode implements runtime.Encoder.
func (a answerEncoder) Encode(obj runtime.Object, w io.Writer) error {
	switch obj := obj.(type) {
	case *object.Object:
		if a.inVersion(obj) {
			return a.write(w, func(out *uncompressed) error { return out.object(obj) })
		}
	case *object.List:
		if a.partial == nil && !a.allInVersion(obj) {
			break
		}
		if a.header != nil && a.isLong(obj) {
			return a.writePacked(w, obj)
		}
		return a.write(w, func(out *uncompressed) error { return out.list(obj) })
	}
	return a.library.Encode(obj, w)
}

func (a answerEncoder) inVersion(obj *object.Object) bool {
	return obj.GetAPIVersion() == a.version.GroupVersion().String()
}

func (a answerEncoder) allInVersion(list *object.List) bool {
	want := a.version.GroupVersion().String()
	for i := range list.Items {
		if list.Items[i].GetAPIVersion() != want {
			return false
		}
	}
	return list.GetAPIVersion() == want
}

// write calls encode with a buffer that goes to w, and ends the answer with a newline.
func (a answerEncoder) write(w io.Writer, encode func(*uncompressed) error) error {
	buffer := a.quick.buffers.get()
	out := &uncompressed{answerEncoder: a, w: w, data: *buffer}
	err := encode(out)
	out.data = append(out.data, '\n')
	if err == nil {
		err = out.flush()
	}
	a.quick.buffers.put(buffer, out.data)
	return err
}

// uncompressed is an answer without compression that is being written.
type uncompressed struct {
	answerEncoder
	w    io.Writer
	data []byte
}

// object appends the text of an object.
func (o *uncompressed) object(obj *object.Object) (err error) {
	o.data, err = o.appendObject(o.data, obj)
	return err
}

// list appends the text of a list. The first write has one byte: the response writer of the
// library then collects the text until it is long enough to be compressed. It takes a longer
// first write for the whole answer.
func (o *uncompressed) list(list *object.List) error {
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

func (o *uncompressed) flush() error {
	_, err := o.w.Write(o.data)
	o.data = o.data[:0]
	return err
}

// appendObject appends the text of an object to a buffer, from the cache if possible.
func (a answerEncoder) appendObject(to []byte, obj *object.Object) ([]byte, error) {
	if text := a.cached(obj); text.json != nil {
		return append(to, text.json...), nil
	}
	from := len(to)
	to, err := a.encode(to, obj)
	if err == nil && a.texts != nil {
		a.cache(obj, cachedText{json: bytes.Clone(to[from:])})
	}
	return to, err
}

// encode appends the text of an object, or that of its metadata, to a buffer.
func (a answerEncoder) encode(to []byte, obj *object.Object) ([]byte, error) {
	if a.partial != nil {
		return a.partial.appendMetadata(to, obj)
	}
	return a.quick.format.Append(to, obj.Object)
}

// key returns the key of the text of an object in the form of this answer.
func (a answerEncoder) key(obj *object.Object) textKey {
	key := textKey{version: a.version, uid: obj.GetUID()}
	if a.partial != nil {
		key.metadata = a.partial.version.Version
	}
	return key
}

// cached returns the text of an object from the cache.
func (a answerEncoder) cached(obj *object.Object) cachedText {
	if a.texts == nil {
		return cachedText{}
	}
	want := obj.GetResourceVersion()
	text, _ := a.texts.Get(a.key(obj), func(text cachedText) bool { return text.resourceVersion == want })
	return text
}

// cache caches the text of an object, in place of the text at another resourceVersion. It does nothing if the object cannot be
// identified.
func (a answerEncoder) cache(obj *object.Object, text cachedText) {
	key := a.key(obj)
	text.resourceVersion = obj.GetResourceVersion()
	if a.texts != nil && key.uid != "" && text.resourceVersion != "" {
		a.texts.Add(key, text, text.size())
	}
}

// frame returns the text around the objects of a list. The keys are sorted, as in every other
// answer.
func (a answerEncoder) frame(list *object.List) (out frame, err error) {
	if a.partial != nil {
		return a.partial.frame(list)
	}
	keys := append(slices.Collect(maps.Keys(list.Object)), "items")
	slices.Sort(keys)
	text := []byte("{")
	for i, key := range slices.Compact(keys) {
		if i > 0 {
			text = append(text, ',')
		}
		if text, err = a.quick.format.Append(text, key); err != nil {
			return out, err
		}
		text = append(text, ':')
		if key == "items" {
			text = append(text, '[')
			out.head, text = text, []byte("]")
			continue
		}
		if text, err = a.quick.format.Append(text, list.Object[key]); err != nil {
			return out, err
		}
	}
	text = append(text, '}')
	out.tail = text
	return out, nil
}
