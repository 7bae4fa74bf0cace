package answer

import (
	"compress/gzip"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/apiserver/bounded"
	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/text"
	"holdfast.dev/holdfast/internal/apiserver/deflate"
)

// quick is the quick form: encoders that copy no object, and take texts from a cache.
type quick struct {
	format      text.Format
	texts       *texts
	buffers     buffers
	compressors *deflate.Pool
}

// newQuick returns the quick form. The level of the compression is that of Kubernetes.
func newQuick(format text.Format) *quick {
	return &quick{format: format, texts: newTexts(), compressors: deflate.NewPool(gzip.BestSpeed)}
}

func (q *quick) encoder(v *kind.Version, library runtime.Encoder) runtime.Encoder {
	return answerEncoder{quick: q, library: library, version: v}
}

func (q *quick) drop(v *kind.Version) {
	q.texts.Remove(func(key textKey) bool { return key.version == v })
}

func (q *quick) caches() []bounded.Measured { return []bounded.Measured{q.texts} }
