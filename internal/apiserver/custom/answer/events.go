package answer

import (
	"bytes"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
)

// eventSerializer encodes the events of one watch, one after the other.
//
// The library encodes an event in two steps: first the object, then the event with the text of
// the object. Its second step parses this text again and copies it. eventSerializer keeps the
// object in the first step and encodes it in the second, which knows the type of the event: the
// object of a DELETED event may differ from the cached text.
type eventSerializer struct {
	readSerializer
	// object is the object between both steps, and answers its encoder.
	object  *object.Object
	answers answerEncoder
	// text is the text of the last event, if many of its type follow one another: a watch that
	// begins with all objects sends ADDED events. The library is done with the text when it
	// encodes the next event. An idle watch keeps no text.
	text []byte
}

// EncoderForVersion implements runtime.NegotiatedSerializer.
func (s *eventSerializer) EncoderForVersion(encoder runtime.Encoder, gv runtime.GroupVersioner) runtime.Encoder {
	inner := s.readSerializer.EncoderForVersion(encoder, gv)
	if answers, ok := inner.(answerEncoder); ok {
		return objectKeeper{answerEncoder: answers, serializer: s}
	}
	if encoder == s.infos[0].StreamSerializer.Serializer {
		return eventEncoder{Encoder: inner, serializer: s}
	}
	return inner
}

// objectKeeper is the first step.
type objectKeeper struct {
	answerEncoder
	serializer *eventSerializer
}

// Encode implements runtime.Encoder. It writes nothing for an object that the second step
// encodes.
func (k objectKeeper) Encode(obj runtime.Object, w io.Writer) error {
	if obj, ok := obj.(*object.Object); ok && k.inVersion(obj) {
		k.serializer.object, k.serializer.answers = obj, k.answerEncoder
		return nil
	}
	return k.answerEncoder.Encode(obj, w)
}

// eventEncoder is the second step, for JSON.
type eventEncoder struct {
	runtime.Encoder
	serializer *eventSerializer
}

// Encode implements runtime.Encoder.
func (e eventEncoder) Encode(obj runtime.Object, w io.Writer) error {
	event, ok := obj.(*metav1.WatchEvent)
	kept := e.serializer.object
	e.serializer.object = nil
	if !ok || kept == nil && len(event.Object.Raw) == 0 {
		return e.Encoder.Encode(obj, w)
	}
	text, err := e.serializer.appendEvent(event, kept)
	if err != nil {
		return err
	}
	if out, ok := w.(runtime.Splice); ok {
		out.Splice(text)
		return nil
	}
	_, err = w.Write(text)
	return err
}

// appendEvent returns the text of an event with an object. Without an object, the event holds
// the text of its object: a table, metadata or a Status. The caller does not change the text.
func (s *eventSerializer) appendEvent(event *metav1.WatchEvent, obj *object.Object) ([]byte, error) {
	text := s.text[:0]
	s.text = nil
	if obj != nil && event.Type == string(watch.Modified) {
		return s.answers.modified(obj)
	}
	text = append(text, eventHead(event.Type)...)
	var err error
	switch {
	case obj == nil:
		text = append(text, bytes.TrimSuffix(event.Object.Raw, []byte("\n"))...)
	case event.Type == string(watch.Added):
		text, err = s.answers.appendObject(text, obj)
	default:
		text, err = s.answers.quick.format.Append(text, obj.Object)
	}
	text = append(text, eventTail...)
	if event.Type == string(watch.Added) && cap(text) <= maxBuffer {
		s.text = text
	}
	return text, err
}

// modified returns the text of a MODIFIED event, from the cache if possible. All watches of an
// object send the same text.
func (a answerEncoder) modified(obj *object.Object) ([]byte, error) {
	text := a.cached(obj)
	if text.event != nil {
		return text.event, nil
	}
	head := eventHead(string(watch.Modified))
	event, err := a.quick.buffers.build(func(to []byte) ([]byte, error) {
		to = append(to, head...)
		if text.json != nil {
			to = append(to, text.json...)
			return append(to, eventTail...), nil
		}
		to, err := a.encode(to, obj)
		return append(to, eventTail...), err
	})
	if err != nil {
		return nil, err
	}
	end := len(event) - len(eventTail)
	text.event, text.json = event, event[len(head):end:end]
	a.cache(obj, text)
	return event, nil
}

// The text of an event around that of its object.
const eventTail = "}\n"

func eventHead(eventType string) string { return `{"type":"` + eventType + `","object":` }
