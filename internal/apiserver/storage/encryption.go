package storage

import (
	"context"
	"fmt"
	"os"
	"slices"

	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
)

// Encryption is an EncryptionConfiguration of Kubernetes. The zero value stores objects unencrypted.
type Encryption struct {
	// Text is the content of the file.
	Text []byte
	// Keys are the keys in the file, such as secretbox/first, sorted.
	Keys []string
	// Transformers encrypt and decrypt the objects of a resource.
	Transformers value.ResourceTransformers
	// Checks are the health checks of the encryption providers.
	Checks []healthz.HealthChecker
}

// LoadEncryption reads an EncryptionConfiguration. Without a file it returns the zero value. The encryption
// providers stop when ctx ends.
func LoadEncryption(ctx context.Context, file, serverID string) (Encryption, error) {
	if file == "" {
		return Encryption{}, nil
	}
	loaded, err := encryptionconfig.LoadEncryptionConfig(ctx, file, false, serverID)
	if err != nil {
		return Encryption{}, fmt.Errorf("encryption: %s: %w", file, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return Encryption{}, fmt.Errorf("encryption: %w", err)
	}
	keys, err := keysIn(text)
	if err != nil {
		return Encryption{}, fmt.Errorf("encryption: %s: %w", file, err)
	}
	return Encryption{
		Text: text, Keys: keys,
		Transformers: encryptionconfig.StaticTransformers(loaded.Transformers), Checks: loaded.HealthChecks,
	}, nil
}

// Readable returns what reads the stored objects with the encryption.
func (e Encryption) Readable(client *etcd.Client) Readable {
	return Readable{Client: client, Transformers: e.Transformers, Configured: e.Keys}
}

// keysIn returns the keys in the text of an EncryptionConfiguration. The name of a KMS provider stands for its
// key.
func keysIn(text []byte) ([]string, error) {
	var config apiserverv1.EncryptionConfiguration
	if err := yaml.Unmarshal(text, &config); err != nil {
		return nil, err
	}
	var keys []string
	add := func(provider string, named []apiserverv1.Key) {
		for _, key := range named {
			keys = append(keys, provider+"/"+key.Name)
		}
	}
	for _, resource := range config.Resources {
		for _, provider := range resource.Providers {
			switch {
			case provider.AESCBC != nil:
				add("aescbc", provider.AESCBC.Keys)
			case provider.AESGCM != nil:
				add("aesgcm", provider.AESGCM.Keys)
			case provider.Secretbox != nil:
				add("secretbox", provider.Secretbox.Keys)
			case provider.KMS != nil:
				add("kms", []apiserverv1.Key{{Name: provider.KMS.Name}})
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}
