package node

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/projection"
)

const (
	// page is the smallest space that a file takes.
	page = 4096
	// namespaceShare sets the default of Config.NamespaceLimit: this fraction of the file
	// system of the root.
	namespaceShare = 4
)

// space limits how much of the root the pods of one namespace may use, so that one namespace
// cannot keep the agent from writing the files of another. It counts the files of volumes
// and the saved immutable objects.
type space struct {
	// limit is the limit in bytes for each namespace; 0 means that there is none.
	limit int64

	mu         sync.Mutex
	namespaces map[string]*namespaceSpace
}

// namespaceSpace is the space that one namespace uses.
type namespaceSpace struct {
	used int64
	// parts holds the size of each part, by owner and volume. used is their sum.
	parts map[types.UID]map[string]int64
}

// spacePart is a volume of a pod, or a saved object. The volume of a saved object is empty.
type spacePart struct {
	namespace string
	owner     types.UID
	volume    string
}

// reserve sets the size of a part. It returns an error, and changes nothing, if the part
// grows and its namespace would then use more than the limit.
func (s *space) reserve(part spacePart, size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.of(part.namespace)
	before := of.parts[part.owner][part.volume]
	if s.limit > 0 && size > before && of.used-before+size > s.limit {
		return &spaceError{namespace: part.namespace, needed: size, used: of.used - before, limit: s.limit}
	}
	of.set(part, size)
	return nil
}

// add sets the size of a part that is on disk already, without regard to the limit.
func (s *space) add(part spacePart, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(part.namespace).set(part, size)
}

// release forgets all parts of an owner.
func (s *space) release(namespace string, owner types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.of(namespace)
	for _, size := range of.parts[owner] {
		of.used -= size
	}
	delete(of.parts, owner)
	if len(of.parts) == 0 {
		delete(s.namespaces, namespace)
	}
}

// of returns the space of a namespace. The caller holds the lock.
func (s *space) of(namespace string) *namespaceSpace {
	if s.namespaces == nil {
		s.namespaces = map[string]*namespaceSpace{}
	}
	if s.namespaces[namespace] == nil {
		s.namespaces[namespace] = &namespaceSpace{parts: map[types.UID]map[string]int64{}}
	}
	return s.namespaces[namespace]
}

func (n *namespaceSpace) set(part spacePart, size int64) {
	if n.parts[part.owner] == nil {
		n.parts[part.owner] = map[string]int64{}
	}
	n.used += size - n.parts[part.owner][part.volume]
	n.parts[part.owner][part.volume] = size
}

// spaceError is the error of files that do not fit into the space of their namespace.
type spaceError struct {
	namespace           string
	needed, used, limit int64
}

// Error implements error. It rounds sizes up to KiB.
func (e *spaceError) Error() string {
	kib := func(size int64) string {
		return resource.NewQuantity((size+1023)/1024*1024, resource.BinarySI).String()
	}
	return fmt.Sprintf("the files need %s, and the pods of namespace %s already have %s of at most %s on this node (--namespace-limit)",
		kib(e.needed), e.namespace, kib(e.used), kib(e.limit))
}

// payloadSize returns the space of the files of a volume: the files in whole pages, and one
// page for the directory entries and the link of each file.
func payloadSize(payload projection.Payload) int64 {
	size := int64(0)
	for _, file := range payload {
		size += pages(len(file.Data)) + page
	}
	return size
}

// objectSize returns the space of a saved object, in which values are encoded with base64.
func objectSize(object *Object) int64 {
	size := 0
	for key, value := range object.Data {
		size += len(key) + len(value)*4/3
	}
	return pages(size) + page
}

func pages(size int) int64 { return (int64(size) + page - 1) / page * page }
