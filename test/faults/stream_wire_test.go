package faults_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"holdfast.dev/holdfast/internal/watchcheck"
)

// Encodings of answers.
const (
	inJSON     = "application/json"
	inProtobuf = "application/vnd.kubernetes.protobuf"
)

// Forms of answers.
const (
	asObjects  = ""
	asMetadata = "PartialObjectMetadata"
	asTable    = "Table"
)

// wireCodecs decode protobuf.
var wireCodecs = func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), metav1.AddMetaToScheme(scheme)); err != nil {
		panic(err)
	}
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	return serializer.NewCodecFactory(scheme)
}()

// errUndecodable is the error of an event that is not in the encoding of its stream.
var errUndecodable = errors.New("an event cannot be decoded")

// wireEvent is an event as the server sends it.
type wireEvent struct {
	kind   string
	object watchcheck.Object
}

// endsInitial reports whether a bookmark ends the initial events.
func (e wireEvent) endsInitial() bool {
	value, _, _ := unstructured.NestedString(e.object, "metadata", "annotations", metav1.InitialEventsAnnotationKey)
	return value == "true"
}

// status returns the error in an event.
func (e wireEvent) status() error {
	code, _ := e.object["code"].(float64)
	message, _ := e.object["message"].(string)
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: int32(code), Message: message}}
}

// accept returns the header of a request.
func (v variant) accept(list bool) string {
	as := v.form
	if as == asMetadata && list {
		as += "List"
	}
	if as == asObjects {
		return v.encoding
	}
	return v.encoding + ";as=" + as + ";g=meta.k8s.io;v=v1"
}

// decodeList decodes an answer to a list.
func (v variant) decodeList(body []byte) (uint64, []watchcheck.Object, error) {
	list, err := v.decode(body)
	if err != nil {
		return 0, nil, fmt.Errorf("decode a list: %w", err)
	}
	objects := items(list)
	if v.form == asTable {
		objects = rows(list)
	}
	return watchcheck.RevisionOf(list), objects, nil
}

// decode decodes a text to what JSON would have.
func (v variant) decode(text []byte) (watchcheck.Object, error) {
	if v.encoding == inProtobuf {
		decoded, _, err := wireCodecs.UniversalDeserializer().Decode(text, nil, nil)
		if err != nil {
			return nil, err
		}
		if text, err = json.Marshal(decoded); err != nil {
			return nil, err
		}
	}
	var object watchcheck.Object
	err := json.Unmarshal(text, &object)
	return object, err
}

// events returns a function that reads the next event of a watch.
func (v variant) events(body io.ReadCloser) func() (wireEvent, error) {
	read := v.frames(body)
	return func() (wireEvent, error) {
		kind, text, err := read()
		if err != nil {
			return wireEvent{}, err
		}
		object, err := v.decode(text)
		if err != nil {
			return wireEvent{}, fmt.Errorf("%w: %w: %q", errUndecodable, err, text)
		}
		// A bookmark may have no row.
		if all := rows(object); v.form == asTable && len(all) == 1 {
			object = all[0]
		}
		return wireEvent{kind, object}, nil
	}
}

// frames returns a function that reads the type and the object of the next event.
func (v variant) frames(body io.ReadCloser) func() (string, []byte, error) {
	if v.encoding == inJSON {
		decoder := json.NewDecoder(body)
		return func() (string, []byte, error) {
			var event struct {
				Type   string
				Object json.RawMessage
			}
			err := decoder.Decode(&event)
			return event.Type, event.Object, err
		}
	}
	frames := protobuf.LengthDelimitedFramer.NewFrameReader(body)
	buffer := make([]byte, 4<<20)
	return func() (string, []byte, error) {
		n, err := frames.Read(buffer)
		if err != nil {
			return "", nil, err
		}
		var event metav1.WatchEvent
		if err = event.Unmarshal(buffer[:n]); err != nil {
			err = fmt.Errorf("%w: %w: %q", errUndecodable, err, buffer[:n])
		}
		return event.Type, event.Object.Raw, err
	}
}

// rows returns the objects of a Table.
func rows(table watchcheck.Object) []watchcheck.Object {
	all, _ := table["rows"].([]any)
	var objects []watchcheck.Object
	for _, row := range all {
		row, _ := row.(map[string]any)
		if object, ok := row["object"].(map[string]any); ok {
			objects = append(objects, object)
		}
	}
	return objects
}

// isGone reports whether an error says that the server has not the history any more.
func isGone(err error) bool { return classify(err).code == http.StatusGone }
