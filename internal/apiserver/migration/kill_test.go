package migration_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestSoakKillDuringMigration kills the server at a random moment of a migration, while a client writes, and starts it again. The stored
// versions are never shortened while an object is stored in the old version, no object is lost, and the migration ends. At least a quarter
// of the kills must be in the middle of the writes. HOLDFAST_SOAK sets the duration of a longer test of at least 100 rounds.
func TestSoakKillDuringMigration(t *testing.T) {
	t.Parallel()
	rounds, limit := 3, time.Duration(0)
	if text := os.Getenv("HOLDFAST_SOAK"); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
		rounds = 100
	}
	const count = 300
	s := startStore(t)
	settings := apiserver.Config{DataDir: t.TempDir(), Etcd: s.cluster}
	settings.Kubeconfig = settings.DataDir + ".kubeconfig"
	start := func() (*servertest.Process, *client) {
		process := servertest.StartProcess(t, settings)
		return process, newClient(t, servertest.Config(t, settings.Kubeconfig))
	}
	process, c := start()
	c.create(define(""), count)
	acknowledged := map[string]int64{}
	before, middle, round := 0, 0, 0
	// A short test goes on until a kill was in the middle. On a busy machine, a migration may end before this process runs again.
	for began := time.Now(); round < rounds || time.Since(began) < limit || middle == 0 && round < 20; round++ {
		from, to := "v1", "v2"
		if round%2 == 1 {
			from, to = to, from
		}
		c.storeIn(to)
		stop := writing(t, c)
		migration := c.migrate(name)
		if round%3 > 0 {
			waittest.Until(t, "the migration has begun", func() bool { return s.untouched()[to] > 0 })
		}
		if round%3 < 2 {
			time.Sleep(time.Duration(rand.IntN(700)) * time.Millisecond) // the kill is at a random moment
		}
		process.Kill()
		maps.Copy(acknowledged, stop())
		counted, versions := s.versions()
		if counted[from] > 0 && !slices.Contains(versions, from) {
			t.Fatalf("round %d: objects are stored in %v, and storedVersions is %v", round, counted, versions)
		}
		switch untouched := s.untouched(); {
		case untouched[to] == 0:
			before++
		case untouched[from] > 0:
			middle++
		}
		process, c = start()
		c.succeeded(migration)
		counted, versions = s.versions()
		if counted[from] > 0 || !slices.Equal(versions, []string{to}) {
			t.Fatalf("round %d: at the end objects are stored in %v, and storedVersions is %v", round, counted, versions)
		}
		c.holds(acknowledged, count)
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	t.Logf("%d rounds: %d kills before the first write of the migration, %d in the middle, %d after its last write; clients wrote %d boats",
		round, before, middle, round-before-middle, len(acknowledged))
	if middle == 0 || middle < rounds/4 {
		t.Errorf("only %d of %d kills were in the middle of a migration", middle, round)
	}
}

// untouched counts the boats that no writer of one client changes, by their version.
func (s *store) untouched() map[string]int {
	s.Helper()
	found, _ := s.read(group+"/boats/default/b", 0)
	counted := map[string]int{}
	for boat, stored := range found {
		if number(s.TB, boat) >= touched {
			counted[strings.TrimPrefix(stored.decode(s.TB).APIVersion, group+"/")]++
		}
	}
	return counted
}
