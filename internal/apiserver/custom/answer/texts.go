package answer

import (
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/apiserver/bounded"
	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/deflate"
)

const (
	// maxTexts is the size of all cached texts of a server, in bytes, with their compressed
	// forms.
	maxTexts = 64 << 20
	// maxText is the size of the largest text that is cached, with its compressed form.
	maxText = 1 << 20
)

// texts caches the JSON text of stored objects, so that a GET, LIST or WATCH of an object that
// was read before does not encode it again. UID and resourceVersion identify the content
// of a stored object. They do not identify the result of a dry run, nor the object
// of a DELETED event that a watch sends when an object no longer matches its selector, nor
// the object without managed fields that goes to the audit log. Therefore only the answers to
// GET and LIST, and events of other types, use the cache. See Reads.
type texts = bounded.Cache[textKey, cachedText]

func newTexts() *texts {
	return bounded.New(bounded.Config[textKey, cachedText]{Name: "texts", Limit: maxTexts, Largest: maxText})
}

// textKey identifies an object. Each version of a kind has its own texts, and a changed
// definition has new versions.
type textKey struct {
	version *kind.Version
	uid     types.UID
	// metadata is the version of meta.k8s.io in which the text holds only the metadata. It is
	// empty if the text holds the whole object.
	metadata string
}

// cachedText is the text of an object. The caller of the cache changes none of the slices.
type cachedText struct {
	resourceVersion string
	// json is the JSON text. It is nil if the object is not in the cache.
	json []byte
	// event is the text of the MODIFIED event with the object, nil if no watch sent one. Then json
	// is a part of it.
	event []byte
	// packed is the compressed text. It is empty if no client asked for it.
	packed deflate.Piece
}

func (t cachedText) size() int { return max(len(t.json), len(t.event)) + t.packed.Len() }
