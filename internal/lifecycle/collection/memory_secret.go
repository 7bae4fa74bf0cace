package collection

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/failpoint"
)

const (
	// memoryNamespace and memoryName name the Secret.
	memoryNamespace = metav1.NamespaceSystem
	memoryName      = "holdfast-collected"
	// secretKey is the key of the random bytes in the data of the Secret. The other keys are namespaces, which have no underscore.
	secretKey  = "_key"
	secretSize = 32
	recordSize = 3 * sumSize
)

// load reads the Secret. Without one, the memory is empty, and the first record creates it.
func (m *memory) load(ctx context.Context) error {
	found, err := m.secrets.Get(ctx, memoryName, metav1.GetOptions{})
	read := contents{records: map[string][]entry{}}
	version := ""
	switch {
	case err == nil:
		read, version = decode(found.Data), found.ResourceVersion
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("read Secret %s/%s: %w", memoryNamespace, memoryName, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(read.secret) == 0 {
		if read.secret = m.contents.secret; len(read.secret) == 0 {
			read.secret = make([]byte, secretSize)
			_, _ = rand.Read(read.secret) // it never fails
		}
	}
	// The hashes of other random bytes are of no use: the records are made again.
	if m.loaded && !slices.Equal(m.contents.secret, read.secret) {
		for k := range m.pending {
			m.stored(k)
		}
		clear(m.pending)
	}
	m.contents, m.version, m.loaded = read, version, true
	return nil
}

// store writes the pending records into the Secret.
func (m *memory) store(ctx context.Context) error {
	m.mu.Lock()
	pending := make(map[key]entry, len(m.pending))
	for k, r := range m.pending {
		pending[k] = r
	}
	written, version := m.contents.with(pending), m.version
	m.mu.Unlock()
	if len(pending) == 0 {
		return nil
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: memoryNamespace, Name: memoryName, ResourceVersion: version}, Data: written.encode(),
	}
	if err := failpoint.Fail("collection:remember"); err != nil {
		return err
	}
	var err error
	if version == "" {
		secret, err = m.secrets.Create(ctx, secret, metav1.CreateOptions{FieldManager: manager})
	} else {
		secret, err = m.secrets.Update(ctx, secret, metav1.UpdateOptions{FieldManager: manager})
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		// Another leader has written it, or a client.
		if err := m.load(ctx); err != nil {
			return err
		}
		return m.store(ctx)
	}
	if err != nil {
		return fmt.Errorf("write Secret %s/%s: %w", memoryNamespace, memoryName, err)
	}
	failpoint.Reach("collection:remembered")
	m.mu.Lock()
	defer m.mu.Unlock()
	m.contents, m.version = written, secret.ResourceVersion
	for k, r := range pending {
		if m.pending[k] == r {
			delete(m.pending, k)
		}
		m.stored(k)
	}
	return nil
}

// encode returns the data of the Secret.
func (c contents) encode() map[string][]byte {
	data := map[string][]byte{secretKey: c.secret}
	for namespace, records := range c.records {
		text := make([]byte, 0, len(records)*recordSize)
		for _, r := range records {
			text = append(append(append(text, r.name[:]...), r.content[:]...), r.uid[:]...)
		}
		data[namespace] = text
	}
	return data
}

// decode reads the data of the Secret. What the controller did not write is dropped.
func decode(data map[string][]byte) contents {
	read := contents{records: map[string][]entry{}}
	if len(data[secretKey]) != secretSize {
		klog.InfoS("the Secret is not one that a server wrote, and counts as empty", "namespace", memoryNamespace, "name", memoryName, "key", secretKey)
		return read
	}
	read.secret = data[secretKey]
	for namespace, text := range data {
		if namespace == secretKey {
			continue
		}
		if len(text)%recordSize != 0 {
			klog.InfoS("a part of the Secret is not one that a server wrote, and is dropped",
				"namespace", memoryNamespace, "name", memoryName, "key", namespace)
			continue
		}
		for part := range slices.Chunk(text, recordSize) {
			read.records[namespace] = append(read.records[namespace],
				entry{name: sum(part[:sumSize]), content: sum(part[sumSize : 2*sumSize]), uid: sum(part[2*sumSize:])})
		}
	}
	return read
}
