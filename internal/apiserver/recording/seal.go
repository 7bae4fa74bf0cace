package recording

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apiserver/pkg/storage/value"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/storage"
)

// KeyPath is the key in etcd of the key with which the values of Secrets are sealed. It is encrypted like a Secret. No API serves it.
const KeyPath = storage.HistoryKey

// sealBytes is the length of the key.
const sealBytes = 32

// sealKey reads the key with which the values of Secrets are sealed, and makes it if there is none.
type sealKey struct {
	mu  sync.Mutex
	key []byte
}

// storedKey is the key as it is stored. Like all that is encrypted, it is JSON.
type storedKey struct {
	Key []byte `json:"key"`
}

// refresh encrypts a stored key with the current key of encryption. It does nothing if there is no key.
func (k *sealKey) refresh(ctx context.Context, r *Recorder) error {
	found, err := r.Client.Firsts(ctx, []string{KeyPath})
	if err != nil || found[0] == nil {
		return err
	}
	k.mu.Lock()
	k.key = nil
	k.mu.Unlock()
	_, err = k.get(ctx, r)
	return err
}

// get returns the key. Without one, it makes it.
func (k *sealKey) get(ctx context.Context, r *Recorder) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key != nil {
		return k.key, nil
	}
	found, err := r.Client.Firsts(ctx, []string{KeyPath})
	if err != nil {
		return nil, err
	}
	transformer, at := r.transformer(secrets), value.DefaultContext(KeyPath)
	if found[0] == nil {
		fresh := make([]byte, sealBytes)
		// Read never returns an error.
		_, _ = rand.Read(fresh)
		text, err := json.Marshal(storedKey{fresh})
		if err != nil {
			return nil, err
		}
		sealed, err := transformer.TransformToStorage(ctx, text, at)
		if err != nil {
			return nil, fmt.Errorf("encrypt the key of history: %w", err)
		}
		// Another server may have made a key meanwhile.
		if _, err := r.Client.Add(ctx, etcd.Pair{Key: KeyPath, Value: sealed}); err != nil {
			return nil, err
		}
		if found, err = r.Client.Firsts(ctx, []string{KeyPath}); err != nil {
			return nil, err
		}
	}
	if found[0] == nil {
		return nil, fmt.Errorf("the key of history is not stored at %s", KeyPath)
	}
	text, stale, err := transformer.TransformFromStorage(ctx, found[0].Value, at)
	if err != nil {
		return nil, fmt.Errorf("decrypt the key of history: %w", err)
	}
	if stale {
		// The old key of encryption may be removed after every Secret was written again.
		if err := r.rewrite(ctx, secrets, *found[0]); err != nil {
			return nil, err
		}
	}
	var stored storedKey
	if err := json.Unmarshal(text, &stored); err != nil {
		// The text of the error may have a part of the key.
		return nil, errors.New("the key of history is not stored as JSON")
	}
	if len(stored.Key) != sealBytes {
		return nil, fmt.Errorf("the key of history has %d bytes instead of %d", len(stored.Key), sealBytes)
	}
	k.key = stored.Key
	return k.key, nil
}
