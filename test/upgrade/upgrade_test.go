package upgrade_test

import (
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev/holdfast/internal/yamltest"
)

const (
	// programVariable names the program of an earlier release.
	programVariable = "HOLDFAST_RELEASE_PROGRAM"
	// archiveVariable names the archive that TestWrite writes.
	archiveVariable = "HOLDFAST_RELEASE_ARCHIVE"
)

// encryption encrypts Secrets in etcd.
const encryption = `
kind: EncryptionConfiguration
apiVersion: apiserver.config.k8s.io/v1
resources:
- resources: [secrets]
  providers:
  - secretbox: {keys: [{name: one, secret: a2VwdCBrZXB0IGtlcHQga2VwdCBrZXB0IGtlcHQgazE=}]}
  - identity: {}
`

// TestUpgrade starts this program on the data of each release.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/*.tar.gz")
	if err != nil || len(archives) == 0 {
		t.Fatal("no data of a release: ", err)
	}
	for _, archive := range archives {
		t.Run(filepath.Base(archive), func(t *testing.T) {
			t.Parallel()
			dir := unpack(t, archive)
			text, err := os.ReadFile(filepath.Join(dir, objectsFile))
			if err != nil {
				t.Fatal(err)
			}
			all := *yamltest.Decode[[]recorded](t, text)
			examine(t, current, dir, all)
			// The first start may have migrated something.
			examine(t, current, dir, all)
		})
	}
}

// TestDowngrade writes data with this program, and serves them with the program of an earlier release, and then with this one again. So
// the data have passed an upgrade and a downgrade.
func TestDowngrade(t *testing.T) {
	t.Parallel()
	program := os.Getenv(programVariable)
	if program == "" {
		t.Skip("make downgrade builds the program of an earlier release")
	}
	dir := t.TempDir()
	all := written(t, current, dir)
	examine(t, program, dir, all)
	examine(t, current, dir, all)
}

// TestWrite writes the archive of a release.
func TestWrite(t *testing.T) {
	program, archive := os.Getenv(programVariable), os.Getenv(archiveVariable)
	if program == "" || archive == "" {
		t.Skip("make upgrade-data writes the data of a release")
	}
	dir := t.TempDir()
	all := written(t, program, dir)
	if err := os.WriteFile(filepath.Join(dir, objectsFile), encode(t, all), 0o600); err != nil {
		t.Fatal(err)
	}
	pack(t, dir, archive)
}

// written lets a program write the data to dir. It returns all objects.
func written(t *testing.T, program, dir string) []recorded {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, encryptionFile), []byte(encryption), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, program, dir)
	s.write(t)
	s.protect(t)
	all := s.record(t)
	s.stop(t)
	return all
}

// examine starts a program on the data in dir, and checks the objects and the protections.
func examine(t *testing.T, program, dir string, all []recorded) {
	t.Helper()
	s := start(t, program, dir)
	s.compare(t, all)
	s.protect(t)
	s.compare(t, all)
	s.stop(t)
}
