package maintenance

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/backup"
)

// newSource reads which keys the stored objects need and which the EncryptionConfiguration of a server has.
// The configuration is the file as it is now, because that file goes into the backup: a running server may
// have read other keys from it.
func newSource(ctx context.Context, config config.Server, client *etcd.Client, options BackupOptions) (source, error) {
	ctx, cancel := context.WithCancel(ctx)
	// This ends the encryption providers.
	defer cancel()
	s := source{version: config.Version, pki: filepath.Join(config.DataDir, "pki")}
	if options.WithoutKeys {
		config.EncryptionConfig = ""
	}
	encrypted, err := storage.LoadEncryption(ctx, config.EncryptionConfig, "")
	if err != nil {
		return s, err
	}
	uses, err := encrypted.Readable(client).Keys(ctx)
	if err != nil {
		return s, err
	}
	s.encryption = encrypted.Text
	s.keys = &backup.Encryption{Needed: []string{}, Present: append([]string{}, encrypted.Keys...)}
	var lost []string
	for _, use := range uses {
		s.keys.Needed = append(s.keys.Needed, use.Key)
		if use.Unreadable != nil {
			lost = append(lost, fmt.Sprintf("the key %s (objects: %d)", use.Key, use.Objects))
		}
	}
	if len(lost) == 0 || options.WithoutKeys {
		return s, nil
	}
	return s, missingKeys(lost, config.EncryptionConfig)
}

// missingKeys returns the error of a backup that would not have all keys.
func missingKeys(lost []string, file string) error {
	const deliberate = "To write a backup without keys of encryption, and keep the keys elsewhere, use --without-keys"
	objects := "stored objects are encrypted with " + strings.Join(lost, " and ")
	if file == "" {
		return fmt.Errorf("%s: name the EncryptionConfiguration of the server with --encryption-provider-config. %s", objects, deliberate)
	}
	return fmt.Errorf("%s, and %s cannot decrypt them: it does not have the key, has another secret for it, or has it for other resources. "+
		"Correct the file. %s", objects, file, deliberate)
}
