package watches

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// maxBuffer is the size of the largest buffer that is used again.
const maxBuffer = 64 << 10

// buffers are for the events that are not cached: those with which a watch begins, and bookmarks.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// format is one encoding of the events of a resource. It is safe for concurrent use.
type format struct {
	// mediaType is the media type of the answer.
	mediaType string
	objects   runtime.Encoder
	events    runtime.Encoder
	framer    runtime.Framer
	// frame is the number of bytes that the framer adds to an event. The library does not count them for its metric.
	frame int
	types map[watch.EventType]eventFormat
}

// eventFormat is the encoding of the events of one type.
type eventFormat struct {
	// identifier stands for the encoding in the cache of an object.
	identifier runtime.Identifier
	encode     func(obj runtime.Object, to io.Writer) error
}

// newFormats returns the formats of the media types JSON and protobuf.
func newFormats(serializer runtime.NegotiatedSerializer, gv schema.GroupVersion) map[string]*format {
	formats := map[string]*format{}
	for _, info := range serializer.SupportedMediaTypes() {
		answered := info.MediaType
		switch info.MediaType {
		case runtime.ContentTypeJSON:
		case runtime.ContentTypeProtobuf:
			answered += ";stream=watch"
		default:
			continue
		}
		if info.StreamSerializer == nil || info.StreamSerializer.Framer == nil {
			continue
		}
		var framed bytes.Buffer
		if _, err := info.StreamSerializer.Framer.NewFrameWriter(&framed).Write([]byte{0}); err != nil {
			continue
		}
		f := &format{
			mediaType: answered, frame: framed.Len() - 1, framer: info.StreamSerializer.Framer, types: map[watch.EventType]eventFormat{},
			objects: serializer.EncoderForVersion(info.Serializer, gv),
			events:  serializer.EncoderForVersion(info.StreamSerializer.Serializer, gv),
		}
		for _, event := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error} {
			f.types[event] = eventFormat{
				identifier: runtime.Identifier(fmt.Sprintf("watches %s %s %s", event, f.objects.Identifier(), f.events.Identifier())),
				encode:     func(obj runtime.Object, to io.Writer) error { return f.encode(event, obj, to) },
			}
		}
		formats[info.MediaType] = f
	}
	return formats
}

// write writes an event. It takes the text from the cache of the object, if it has one.
func (f *format) write(event watch.Event, to io.Writer) error {
	as, ok := f.types[event.Type]
	if !ok {
		return fmt.Errorf("unknown type of an event: %q", event.Type)
	}
	if cached, ok := event.Object.(runtime.CacheableObject); ok {
		return cached.CacheEncode(as.identifier, as.encode, to)
	}
	return as.encode(event.Object, to)
}

// encode encodes an event in the two steps of the library: first the object, then the event with the text of the object.
func (f *format) encode(event watch.EventType, obj runtime.Object, to io.Writer) error {
	text, framed := borrow(), borrow()
	defer release(text)
	defer release(framed)
	if err := f.objects.Encode(obj, text); err != nil {
		return fmt.Errorf("encode object of a watch, %T: %w", obj, err)
	}
	if err := f.events.Encode(&metav1.WatchEvent{Type: string(event), Object: runtime.RawExtension{Raw: text.Bytes()}}, framed); err != nil {
		return fmt.Errorf("encode event of a watch, %T: %w", obj, err)
	}
	_, err := f.framer.NewFrameWriter(to).Write(framed.Bytes())
	return err
}

func borrow() *bytes.Buffer { return buffers.Get().(*bytes.Buffer) }

func release(buffer *bytes.Buffer) {
	if buffer.Cap() <= maxBuffer {
		buffer.Reset()
		buffers.Put(buffer)
	}
}
