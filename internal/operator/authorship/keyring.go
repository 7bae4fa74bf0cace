package authorship

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"holdfast.dev/holdfast/internal/failpoint"
)

// ErrUnverified means that a sealed text is missing, was changed, or is about another
// subject. The user must make the request again.
var ErrUnverified = errors.New("does not verify")

// ErrKeys means that the keys cannot be loaded. The same call may succeed later.
var ErrKeys = errors.New("key of the records of operator packages")

// Subject is what a sealed text is about.
type Subject struct {
	// Purpose keeps texts of different uses apart.
	Purpose string `json:"purpose"`
	// About identifies the subject within the purpose. It is encoded as JSON.
	About any `json:"about"`
}

// Keyring seals and opens texts with the keys that a function loads.
type Keyring struct {
	load func(context.Context) ([][]byte, error)
	keys atomic.Pointer[[]key]
}

// NewKeyring returns a Keyring. load returns the current keys, of KeySize bytes each. The
// first one seals, all of them open. The Keyring calls load when it is first used, and again
// when it meets a text of a key that it does not know.
func NewKeyring(load func(context.Context) ([][]byte, error)) *Keyring { return &Keyring{load: load} }

// Load loads the keys, so that an error shows before the first use.
func (k *Keyring) Load(ctx context.Context) error {
	_, err := k.reload(ctx)
	return err
}

// Seal encrypts content, as JSON, and authenticates it together with its subject.
func (k *Keyring) Seal(ctx context.Context, subject Subject, content any) (string, error) {
	about, err := json.Marshal(subject)
	if err != nil {
		return "", err
	}
	plain, err := json.Marshal(content)
	if err != nil {
		return "", err
	}
	keys, err := k.current(ctx)
	if err != nil {
		return "", err
	}
	if err := failpoint.Fail("authorship:seal"); err != nil {
		return "", fmt.Errorf("%w: %w", ErrKeys, err)
	}
	return keys[0].seal(about, plain), nil
}

// Open decodes the content of a sealed text. The error is ErrUnverified if the text was not
// sealed about the same subject with one of the keys.
func (k *Keyring) Open(ctx context.Context, subject Subject, text string, content any) error {
	about, err := json.Marshal(subject)
	if err != nil {
		return err
	}
	keys, err := k.current(ctx)
	if err != nil {
		return err
	}
	sealedBy := func(each key) bool { return each.id == keyID(text) }
	if !slices.ContainsFunc(keys, sealedBy) && keyID(text) != "" {
		// Another process may have added a key.
		if keys, err = k.reload(ctx); err != nil {
			return err
		}
	}
	for _, each := range keys {
		plain, opened := each.open(about, text)
		if !opened {
			continue
		}
		if err := json.Unmarshal(plain, content); err != nil {
			return fmt.Errorf("sealed content: %w", err)
		}
		return nil
	}
	return ErrUnverified
}

// Hash returns a hash of content about a subject that cannot be computed without the key. It
// uses the first key that was ever stored, so that a new key does not change the hash.
func (k *Keyring) Hash(ctx context.Context, subject Subject, content any) (string, error) {
	text, err := json.Marshal([]any{subject, content})
	if err != nil {
		return "", err
	}
	keys, err := k.current(ctx)
	if err != nil {
		return "", err
	}
	return keys[len(keys)-1].hash(text), nil
}

// current returns the keys, and loads them if that was not done before.
func (k *Keyring) current(ctx context.Context) ([]key, error) {
	if keys := k.keys.Load(); keys != nil {
		return *keys, nil
	}
	return k.reload(ctx)
}

func (k *Keyring) reload(ctx context.Context) ([]key, error) {
	secrets, err := k.load(ctx)
	if err == nil && len(secrets) == 0 {
		err = errors.New("there is none")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeys, err)
	}
	keys := make([]key, len(secrets))
	for i, secret := range secrets {
		if keys[i], err = newKey(secret); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrKeys, err)
		}
	}
	k.keys.Store(&keys)
	return keys, nil
}
