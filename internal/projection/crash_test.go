package projection_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/projection"
)

const volume = "/pods/u/volumes/v"

// generation returns the n-th of a series of payloads. The content of each file names
// the generation. Two generations in a row have some files in common and some not.
func generation(n int) projection.Payload {
	payload := projection.Payload{}
	for i := range 4 {
		name := fmt.Sprintf("f%d", (n+i)%6)
		if i == 3 {
			name = fmt.Sprintf("dir%d/sub/%s", n%2, name)
		}
		payload[name] = projection.File{Data: fmt.Appendf(nil, "generation %d of %s", n, name), Mode: fs.FileMode(0o600 + n%2*0o44)}
	}
	return payload
}

// visible returns the files that a program can read through the links of the volume,
// out of the given names.
func visible(m *memory, names []string) projection.Payload {
	payload := projection.Payload{}
	for _, name := range names {
		first, rest, _ := strings.Cut(name, "/")
		link, err := m.Readlink(path.Join(volume, first))
		if err != nil {
			continue
		}
		set, err := m.Readlink(path.Join(volume, path.Dir(link)))
		if err != nil {
			continue
		}
		file := path.Join(volume, set, path.Base(link), rest)
		n, err := m.find(file)
		if err != nil || !n.mode.IsRegular() {
			continue
		}
		payload[name] = projection.File{Data: n.data, Mode: n.mode}
	}
	return payload
}

func allNames(payloads ...projection.Payload) []string {
	var names []string
	for _, payload := range payloads {
		for name := range payload {
			names = append(names, name)
		}
	}
	return names
}

// TestKilledAtEveryStep kills a writer before each of its changes to the file system,
// with and without a power failure. Before and after the next start, which may be killed
// as well, a reader must see either all old files or all new files.
func TestKilledAtEveryStep(t *testing.T) {
	rounds := 0
	for seed := range uint64(60) {
		for step := 0; ; step++ {
			random := rand.New(rand.NewPCG(seed, uint64(step)))
			m := newMemory(random)
			writer := projection.Writer{FS: m}
			before := random.IntN(20)
			oldSet, newSet := generation(before), generation(before+1)
			if random.IntN(4) == 0 {
				oldSet = projection.Payload{} // the volume is new
			} else if _, err := writer.Write(volume, oldSet); err != nil {
				t.Fatal(err)
			}
			names := allNames(oldSet, newSet)
			where := fmt.Sprintf("seed %d, step %d", seed, step)
			oldOrNew := func() {
				t.Helper()
				if seen := visible(m, names); !seen.Equal(oldSet) && !seen.Equal(newSet) {
					t.Fatalf("%s: a mixture (-new +seen):\n%s", where, cmp.Diff(newSet, seen))
				}
			}
			m.before = oldOrNew
			m.left = step
			_, err := writer.Write(volume, newSet)
			if err != nil && !errors.Is(err, errKilled) {
				t.Fatalf("%s: %v", where, err)
			}
			done := err == nil
			for restarts := random.IntN(3); ; restarts-- {
				if random.IntN(2) == 0 {
					m.powerFailure()
				}
				oldOrNew()
				if restarts == 0 {
					break
				}
				m.left = random.IntN(12)
				if err := writer.Repair(volume); err != nil && !errors.Is(err, errKilled) {
					t.Fatalf("%s: repair: %v", where, err)
				}
				oldOrNew()
			}
			if done && !visible(m, names).Equal(newSet) {
				t.Fatalf("%s: what was written is gone", where)
			}
			m.left = -1
			if err := writer.Repair(volume); err != nil {
				t.Fatalf("%s: repair: %v", where, err)
			}
			oldOrNew()
			checkTidy(t, m, where)
			if _, err := writer.Write(volume, newSet); err != nil {
				t.Fatalf("%s: write again: %v", where, err)
			}
			if seen := visible(m, names); !seen.Equal(newSet) {
				t.Fatalf("%s: not the new set after all", where)
			}
			checkTidy(t, m, where)
			rounds++
			if done {
				break
			}
		}
	}
	t.Logf("%d rounds", rounds)
	if rounds < 1000 {
		t.Errorf("only %d rounds", rounds)
	}
}

// checkTidy fails if the volume has anything else than the result of a complete Write.
func checkTidy(t *testing.T, m *memory, where string) {
	t.Helper()
	entries, err := m.ReadDir(volume)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	sets := 0
	for _, entry := range entries {
		switch name := entry.Name(); {
		case entry.IsDir():
			sets++
		case name == "..data":
		case strings.HasPrefix(name, ".."):
			t.Errorf("%s: %s was left", where, name)
		default:
			set, _ := m.Readlink(path.Join(volume, "..data"))
			if _, err := m.find(path.Join(volume, set, name)); err != nil {
				t.Errorf("%s: link %s leads nowhere", where, name)
			}
		}
	}
	if sets > 1 {
		t.Errorf("%s: %d sets were left", where, sets)
	}
}
