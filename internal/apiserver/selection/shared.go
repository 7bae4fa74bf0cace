package selection

import (
	"bytes"
	"io"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// shared is an object in an event that is sent to many watches. It is encoded once for all
// watches with the same encoding.
type shared struct {
	object    Object
	mu        sync.Mutex
	encodings map[runtime.Identifier]*encoding
}

type encoding struct {
	once sync.Once
	data []byte
	err  error
}

var (
	_ runtime.CacheableObject   = &shared{}
	_ metav1.ObjectMetaAccessor = &shared{}
)

// CacheEncode implements runtime.CacheableObject.
func (s *shared) CacheEncode(id runtime.Identifier, encode func(runtime.Object, io.Writer) error, w io.Writer) error {
	e := s.encoding(id)
	e.once.Do(func() {
		var buffer bytes.Buffer
		e.err = encode(s.GetObject(), &buffer)
		e.data = buffer.Bytes()
	})
	if e.err != nil {
		return e.err
	}
	if splice, ok := w.(runtime.Splice); ok {
		splice.Splice(e.data)
		return nil
	}
	_, err := w.Write(e.data)
	return err
}

func (s *shared) encoding(id runtime.Identifier) *encoding {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.encodings[id] == nil {
		if s.encodings == nil {
			s.encodings = map[runtime.Identifier]*encoding{}
		}
		s.encodings[id] = &encoding{}
	}
	return s.encodings[id]
}

// GetObject implements runtime.CacheableObject. It returns a copy, because the caller may
// change it.
func (s *shared) GetObject() runtime.Object { return s.object.DeepCopyObject() }

// GetObjectKind implements runtime.Object.
func (s *shared) GetObjectKind() schema.ObjectKind { return s.object.GetObjectKind() }

// DeepCopyObject implements runtime.Object.
func (s *shared) DeepCopyObject() runtime.Object { return s.object.DeepCopyObject() }

// GetObjectMeta implements metav1.ObjectMetaAccessor. The caller must not change the result.
func (s *shared) GetObjectMeta() metav1.Object { return s.object }
