package judgement

import (
	"hash/maphash"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// maxNotes bounds the number of notes that are remembered. When there are more, all are forgotten,
// and said once more.
const maxNotes = 4096

// Notes remembers which notes about last-applied configurations have been sent. A note
// that comes with every write teaches users to ignore it.
type Notes struct {
	seed maphash.Seed

	mu   sync.Mutex
	sent map[uint64]struct{}
}

// NewNotes returns Notes that remember none.
func NewNotes() *Notes { return &Notes{seed: maphash.MakeSeed(), sent: map[uint64]struct{}{}} }

// First reports whether the note about a configuration of an object is sent for the first
// time.
func (n *Notes) First(uid types.UID, configuration string) bool {
	var h maphash.Hash
	h.SetSeed(n.seed)
	_, _ = h.WriteString(string(uid))
	_, _ = h.WriteString(configuration)
	key := h.Sum64()
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.sent[key]; ok {
		return false
	}
	if len(n.sent) >= maxNotes {
		clear(n.sent)
	}
	n.sent[key] = struct{}{}
	return true
}
