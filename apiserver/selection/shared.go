package selection

import (
	"bytes"
	"io"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// shared is an object in one event for many watches: it is encoded once for all
// that want it in the same form.
type shared struct {
	object Object
	mu     sync.Mutex
	forms  map[runtime.Identifier]*form
}

type form struct {
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
	f := s.form(id)
	f.once.Do(func() {
		var buffer bytes.Buffer
		f.err = encode(s.GetObject(), &buffer)
		f.data = buffer.Bytes()
	})
	if f.err != nil {
		return f.err
	}
	if splice, ok := w.(runtime.Splice); ok {
		splice.Splice(f.data)
		return nil
	}
	_, err := w.Write(f.data)
	return err
}

func (s *shared) form(id runtime.Identifier) *form {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forms[id] == nil {
		if s.forms == nil {
			s.forms = map[runtime.Identifier]*form{}
		}
		s.forms[id] = &form{}
	}
	return s.forms[id]
}

// GetObject implements runtime.CacheableObject: whoever gets an object may
// change it, so it is a copy.
func (s *shared) GetObject() runtime.Object { return s.object.DeepCopyObject() }

// GetObjectKind implements runtime.Object.
func (s *shared) GetObjectKind() schema.ObjectKind { return s.object.GetObjectKind() }

// DeepCopyObject implements runtime.Object.
func (s *shared) DeepCopyObject() runtime.Object { return s.object.DeepCopyObject() }

// GetObjectMeta implements metav1.ObjectMetaAccessor, to be read.
func (s *shared) GetObjectMeta() metav1.Object { return s.object }
