package apiserver

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
	"holdfast.dev/holdfast/internal/apiserver/storage"
)

// encryption is a Kubernetes' EncryptionConfiguration. The zero value stores objects unencrypted.
type encryption struct {
	// text is the content of the file.
	text []byte
	// keys are the keys in the file, such as secretbox/first, sorted.
	keys         []string
	transformers value.ResourceTransformers
	checks       []healthz.HealthChecker
}

// loadEncryption reads an EncryptionConfiguration. Without a file it returns the zero value. The encryption
// providers stop when ctx ends.
func loadEncryption(ctx context.Context, file, serverID string) (encryption, error) {
	if file == "" {
		return encryption{}, nil
	}
	loaded, err := encryptionconfig.LoadEncryptionConfig(ctx, file, false, serverID)
	if err != nil {
		return encryption{}, fmt.Errorf("encryption: %s: %w", file, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return encryption{}, fmt.Errorf("encryption: %w", err)
	}
	keys, err := keysIn(text)
	if err != nil {
		return encryption{}, fmt.Errorf("encryption: %s: %w", file, err)
	}
	return encryption{
		text: text, keys: keys,
		transformers: encryptionconfig.StaticTransformers(loaded.Transformers), checks: loaded.HealthChecks,
	}, nil
}

// readable returns what reads the stored objects with the encryption.
func (e encryption) readable(client *etcd.Client) storage.Readable {
	return storage.Readable{Client: client, Transformers: e.transformers, Configured: e.keys}
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
