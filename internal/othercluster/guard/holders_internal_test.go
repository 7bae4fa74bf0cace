package guard

import "testing"

// TestKnownHolders checks that the holders that the leader adds before each write do not cause another write, although they do not exist, and
// that those do that the auditor finds.
func TestKnownHolders(t *testing.T) {
	t.Parallel()
	k := newKnown()
	told := func() bool {
		select {
		case <-k.changed:
			return true
		default:
			return false
		}
	}
	for range 2 {
		k.add(map[holder]bool{{definitionsResource, "configmaps"}: true})
		if left := k.existing(func(holder) bool { return false }); len(left) > 0 || told() {
			t.Errorf("the leader has %v, and writes again at once", left)
		}
	}
	k.tell(map[holder]bool{{namespacesResource, "default"}: true})
	if left := k.existing(func(holder) bool { return true }); len(left) != 1 || !told() {
		t.Errorf("the leader has %v, and does not know it", left)
	}
}
