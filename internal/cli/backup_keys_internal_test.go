package cli

import (
	"testing"

	"holdfast.dev/holdfast/internal/apiserver/maintenance"
	"holdfast.dev/holdfast/internal/backup"
)

// TestCheckWithoutKeys checks that a backup with keys is refused if it must have none.
func TestCheckWithoutKeys(t *testing.T) {
	t.Parallel()
	without := backupFlags{options: maintenance.BackupOptions{WithoutKeys: true}}
	for name, test := range map[string]struct {
		info    backup.Info
		refused bool
	}{
		"of an older server": {refused: true},
		"with keys":          {info: backup.Info{Encryption: &backup.Encryption{Present: []string{"secretbox/a"}}}, refused: true},
		"without keys":       {info: backup.Info{Encryption: &backup.Encryption{Needed: []string{"secretbox/a"}}}},
	} {
		if err := without.check(test.info); (err != nil) != test.refused {
			t.Errorf("%s: %v", name, err)
		}
		if err := (backupFlags{}).check(test.info); err != nil {
			t.Errorf("%s, with keys: %v", name, err)
		}
	}
}

// TestDescribeKeys checks what "restore --check" says about the keys of a backup.
func TestDescribeKeys(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		info backup.Info
		want string
	}{
		"older": {
			want: "It has no EncryptionConfiguration. An older version of holdfast wrote it: it does not say whether its objects need keys.\n",
		},
		"older, with keys": {
			info: backup.Info{Files: []backup.File{{Name: "encryption.yaml"}}},
			want: "It has an EncryptionConfiguration. An older version of holdfast wrote it: it does not say which keys its objects need.\n",
		},
		"not encrypted": {info: backup.Info{Encryption: &backup.Encryption{}}, want: "Its objects are not encrypted.\n"},
		"all keys": {
			info: backup.Info{Encryption: &backup.Encryption{Needed: []string{"secretbox/a"}, Present: []string{"aescbc/b", "secretbox/a"}}},
			want: "Keys that its objects need: secretbox/a. Keys that it has: aescbc/b, secretbox/a.\nNo object needs aescbc/b.\n",
		},
		"without keys": {
			info: backup.Info{Encryption: &backup.Encryption{Needed: []string{"aesgcm/b", "secretbox/a"}}},
			want: "Keys that its objects need: aesgcm/b, secretbox/a. Keys that it has: none.\nThe backup has no keys of its encrypted objects. " +
				"The restored server does not start without an EncryptionConfiguration that has aesgcm/b, secretbox/a.\n",
		},
		"a KMS": {
			info: backup.Info{Encryption: &backup.Encryption{Needed: []string{"kms/cloud"}, Present: []string{"kms/cloud"}}},
			want: "Keys that its objects need: kms/cloud. Keys that it has: kms/cloud.\nThe restored server needs your KMS: the keys of kms/cloud " +
				"are there, and not in the backup.\n",
		},
	}
	for name, test := range tests {
		if got := describeKeys(test.info); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
