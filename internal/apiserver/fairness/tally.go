package fairness

import "sync"

// tally counts something of each user, up to a limit.
type tally struct {
	limit  int
	mu     *sync.Mutex
	counts map[string]int
}

func newTally(limit int) tally { return tally{limit, &sync.Mutex{}, map[string]int{}} }

// add counts one more of a user. It returns false if the user has reached the limit.
func (t tally) add(user string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts[user] >= t.limit {
		return false
	}
	t.counts[user]++
	return true
}

// remove counts one less of a user, after add returned true.
func (t tally) remove(user string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts[user]--; t.counts[user] == 0 {
		delete(t.counts, user)
	}
}
