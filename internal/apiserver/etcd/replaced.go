package etcd

import (
	"bytes"
	"context"
	"encoding/json"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apiserver/pkg/storage/value"
)

// Replaced is a write that stored a new object in place of another one with the same key.
type Replaced struct {
	Key string
	// Revision is the one of the write.
	Revision int64
	// Old is the value before the write, decrypted.
	Old []byte
}

// replacedWatcher passes every write that replaces an object to a function, before it passes the event on. Package replacement says what
// such a write is: it stores an object with another UID.
type replacedWatcher struct {
	clientv3.Watcher
	transformer value.Transformer
	replaced    func(Replaced)
}

// Watch implements clientv3.Watcher.
func (w replacedWatcher) Watch(ctx context.Context, key string, options ...clientv3.OpOption) clientv3.WatchChan {
	inner := w.Watcher.Watch(ctx, key, options...)
	out := make(chan clientv3.WatchResponse)
	go func() {
		defer close(out)
		for response := range inner {
			for _, event := range response.Events {
				w.examine(ctx, event)
			}
			select {
			case out <- response:
			case <-ctx.Done():
				// The reader may have gone. The channel of etcd ends with ctx too.
				return
			}
		}
	}()
	return out
}

// examine calls the function if an event replaced an object.
func (w replacedWatcher) examine(ctx context.Context, event *clientv3.Event) {
	if event.Type != clientv3.EventTypePut || event.PrevKv == nil || event.IsCreate() {
		return
	}
	key := string(event.Kv.Key)
	now, err := w.plain(ctx, key, event.Kv.Value)
	if err != nil {
		return // the reader of the event reports it
	}
	old, err := w.plain(ctx, key, event.PrevKv.Value)
	if err != nil || sameUID(now, old) {
		return
	}
	w.replaced(Replaced{Key: key, Revision: event.Kv.ModRevision, Old: old})
}

// plain decrypts a value. A value that is not encrypted is returned as it is.
func (w replacedWatcher) plain(ctx context.Context, key string, stored []byte) ([]byte, error) {
	if !bytes.HasPrefix(stored, encrypted) {
		return stored, nil
	}
	text, _, err := w.transformer.TransformFromStorage(ctx, stored, value.DefaultContext(key))
	return text, err
}

var (
	encrypted = []byte("k8s:enc:")
	protobuf  = []byte("k8s\x00")
	uidKey    = []byte(`"uid":"`)
)

// sameUID reports whether two stored states of a key are the same object. It is called for every write, so it decodes no object unless
// the texts of the UIDs in both differ.
//
// In JSON, it compares the values of all keys "uid", in their order: those of the metadata, of owner references, and of everything else.
// The UID of a new object is random and was never stored before, so it is among those of the new state and not of the old one.
func sameUID(now, old []byte) bool {
	if bytes.HasPrefix(now, protobuf) && bytes.HasPrefix(old, protobuf) {
		return bytes.Equal(uidOfMessage(now), uidOfMessage(old))
	}
	if sameTexts(now, old) {
		return true
	}
	return uidOf(now) == uidOf(old)
}

// sameTexts reports whether two JSON texts have the same values of "uid", at least one.
func sameTexts(now, old []byte) bool {
	for found := false; ; found = true {
		i, j := bytes.Index(now, uidKey), bytes.Index(old, uidKey)
		if i < 0 || j < 0 {
			return found && i < 0 && j < 0
		}
		now, old = now[i+len(uidKey):], old[j+len(uidKey):]
		end := bytes.IndexByte(now, '"')
		if end < 0 || len(old) <= end || !bytes.Equal(now[:end+1], old[:end+1]) {
			return false
		}
	}
}

// uidOf decodes the UID of a stored object.
func uidOf(stored []byte) string {
	if bytes.HasPrefix(stored, protobuf) {
		return string(uidOfMessage(stored))
	}
	var object struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
	}
	if json.Unmarshal(stored, &object) != nil {
		return ""
	}
	return object.Metadata.UID
}

// uidOfMessage returns the UID of an object in protobuf: field 5 of the metadata, which is field 1 of every kind, which is field 2 of
// the message around it.
func uidOfMessage(stored []byte) []byte {
	message := stored[len(protobuf):]
	for _, number := range []protowire.Number{2, 1, 5} {
		message = fieldOf(message, number)
	}
	return message
}

// fieldOf returns the content of a field of a message, nil if it is not there.
func fieldOf(message []byte, number protowire.Number) []byte {
	for len(message) > 0 {
		found, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil
		}
		message = message[n:]
		if found == number && kind == protowire.BytesType {
			content, n := protowire.ConsumeBytes(message)
			if n < 0 {
				return nil
			}
			return content
		}
		if n = protowire.ConsumeFieldValue(found, kind, message); n < 0 {
			return nil
		}
		message = message[n:]
	}
	return nil
}
