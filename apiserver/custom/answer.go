package custom

import (
	"io"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// flushSize is the size at which the encoder of a list writes its buffer.
const flushSize = 64 << 10

// maxBuffer is the size of the largest buffer that is used again.
const maxBuffer = 4 * flushSize

// answerEncoder encodes objects and lists of objects that already have the version of the
// answer. All other answers, such as tables, go to the converting encoder. For a list,
// that encoder would first copy every item.
type answerEncoder struct {
	converting runtime.Encoder
	version    *version
	format     format
	buffers    *sync.Pool
	// texts is nil if the answer may differ from the stored object.
	texts *texts
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
		if a.allInVersion(obj) {
			return a.write(w, func(out *answer) error { return out.list(obj) })
		}
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
	buffer, _ := a.buffers.Get().(*[]byte)
	if buffer == nil {
		buffer = new([]byte)
	}
	out := &answer{answerEncoder: a, w: w, data: (*buffer)[:0]}
	err := encode(out)
	out.data = append(out.data, '\n')
	if err == nil {
		err = out.flush()
	}
	if cap(out.data) <= maxBuffer {
		*buffer = out.data
		a.buffers.Put(buffer)
	}
	return err
}

// answer is the text of one answer.
type answer struct {
	answerEncoder
	w    io.Writer
	data []byte
}

// object appends the text of an object, from the cache if possible.
func (o *answer) object(obj *object) error {
	key := textKey{version: o.version, uid: obj.GetUID(), resourceVersion: obj.GetResourceVersion()}
	cached := o.texts != nil && key.uid != "" && key.resourceVersion != ""
	if cached {
		if text := o.texts.get(key); text != nil {
			o.data = append(o.data, text...)
			return nil
		}
	}
	from := len(o.data)
	var err error
	if o.data, err = o.format.Append(o.data, obj.Object); err != nil {
		return err
	}
	if cached {
		o.texts.add(key, append([]byte(nil), o.data[from:]...))
	}
	return nil
}

// list appends the text of a list. The keys are sorted, as in every other answer.
func (o *answer) list(list *objectList) error {
	keys := append(slices.Collect(maps.Keys(list.Object)), "items")
	slices.Sort(keys)
	o.data = append(o.data, '{')
	for i, key := range slices.Compact(keys) {
		if i > 0 {
			o.data = append(o.data, ',')
		}
		var err error
		if o.data, err = o.format.Append(o.data, key); err != nil {
			return err
		}
		o.data = append(o.data, ':')
		if key == "items" {
			err = o.items(list.Items)
		} else {
			o.data, err = o.format.Append(o.data, list.Object[key])
		}
		if err != nil {
			return err
		}
	}
	o.data = append(o.data, '}')
	return nil
}

func (o *answer) items(items []object) error {
	o.data = append(o.data, '[')
	for i := range items {
		if i > 0 {
			o.data = append(o.data, ',')
		}
		if err := o.object(&items[i]); err != nil {
			return err
		}
		if len(o.data) < flushSize {
			continue
		}
		if err := o.flush(); err != nil {
			return err
		}
	}
	o.data = append(o.data, ']')
	return nil
}

func (o *answer) flush() error {
	_, err := o.w.Write(o.data)
	o.data = o.data[:0]
	return err
}
