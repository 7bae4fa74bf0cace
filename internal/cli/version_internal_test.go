package cli

import "testing"

// TestRevision checks that only a binary with a known source has a revision. Servers with the same revision
// have the same hashes of OpenAPI documents, which clients keep.
func TestRevision(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ version, source, want string }{
		{"v1.2.0", "4f2c", "4f2c"},
		{"4f2c-dirty", "4f2c", ""},
		{"v0.0.0-20261116-4f2c+dirty", "v0.0.0-20261116-4f2c+dirty", ""},
		{"dev", "", ""},
	} {
		if got := revision(test.version, test.source); got != test.want {
			t.Errorf("revision of version %q and source %q: %q, want %q", test.version, test.source, got, test.want)
		}
	}
}
