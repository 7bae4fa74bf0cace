package fieldownership

import (
	"hash/maphash"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// maxNotes bounds the number of notes that the server remembers. When there are more, it
// forgets all, and says them once more.
const maxNotes = 4096

// notes remembers which notes about last-applied configurations the server has sent. A note
// that comes with every write teaches users to ignore it.
type notes struct {
	seed maphash.Seed

	mu   sync.Mutex
	sent map[uint64]struct{}
}

func newNotes() *notes { return &notes{seed: maphash.MakeSeed(), sent: map[uint64]struct{}{}} }

// first reports whether the note about a configuration of an object is sent for the first
// time.
func (n *notes) first(uid types.UID, configuration string) bool {
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
