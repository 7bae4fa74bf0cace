package fieldownership

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/klog/v2"

	serverstorage "holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/ownership"
)

// Prefix is the prefix of the keys of a Memory in etcd, below the prefix of all objects.
const Prefix = serverstorage.InternalPrefix + "/commands"

// maxPending bounds the number of objects with commands that are not written yet. Commands
// of further objects are not remembered.
const maxPending = 1024

// Commands are collected for batchTime before they are written. After a batch nothing is
// written for restTime. A busy server then does not need a second write to disk for each
// request.
const (
	batchTime = 500 * time.Millisecond
	restTime  = 2 * time.Second
)

// writeTimeout bounds the writing of one record.
const writeTimeout = 5 * time.Second

// Object names the object that a command wrote.
type Object struct {
	UID types.UID
	// Path is the URL path of the object.
	Path string
}

// Memory remembers which command wrote which field. It stores one small record for each
// object, under the UID of the object. It writes the record after the response was sent.
// All servers on one etcd share the records. A nil Memory remembers nothing.
type Memory struct {
	storage storage.Interface
	wake    chan struct{}

	mu sync.Mutex
	// pending are the changes for the next batch, writing those of the batch that is being
	// written.
	pending, writing map[types.UID]*pending
}

// pending is a change of a record that is not written yet: commands to add, or its
// removal.
type pending struct {
	object   Object
	commands []ownership.Command
	gone     bool
}

// NewMemory returns a memory that stores its records as ConfigMaps. Run writes them.
func NewMemory(records storage.Interface) *Memory {
	return &Memory{storage: records, wake: make(chan struct{}, 1), pending: map[types.UID]*pending{}}
}

// Remember adds a command to the record of an object. The record is written later.
func (m *Memory) Remember(object Object, command ownership.Command) {
	if m == nil || object.UID == "" {
		return
	}
	m.add(object, func(p *pending) { p.commands = append(p.commands, command) })
}

// Forget removes the record of an object that was deleted. It is removed later.
func (m *Memory) Forget(uid types.UID) {
	if m == nil || uid == "" {
		return
	}
	m.add(Object{UID: uid}, func(p *pending) { p.commands, p.gone = nil, true })
}

func (m *Memory) add(object Object, change func(p *pending)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.pending[object.UID]
	if p == nil {
		if len(m.pending) >= maxPending {
			return
		}
		p = &pending{object: object}
		m.pending[object.UID] = p
	}
	if change(p); len(p.commands) > ownership.MaxFields {
		p.commands = p.commands[1:]
	}
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Read returns the commands that are remembered for an object, also those that are not
// written yet.
func (m *Memory) Read(ctx context.Context, uid types.UID) (ownership.Commands, error) {
	var commands ownership.Commands
	if m == nil || uid == "" {
		return commands, nil
	}
	record := &corev1.ConfigMap{}
	if err := m.storage.Get(ctx, key(uid), storage.GetOptions{IgnoreNotFound: true}, record); err != nil {
		return commands, err
	}
	commands = decode(record)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, waiting := range []*pending{m.writing[uid], m.pending[uid]} {
		if waiting == nil {
			continue
		}
		if waiting.gone {
			commands = ownership.Commands{}
		}
		for _, command := range waiting.commands {
			commands.Add(command)
		}
	}
	return commands, nil
}

// Run writes records until ctx ends. Then it writes the remaining records and returns.
func (m *Memory) Run(ctx context.Context) {
	if m == nil {
		return
	}
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-m.wake:
			// The next command for the same object often follows soon. It is then
			// written in the same batch.
			if pause(ctx, batchTime) {
				m.flush(ctx)
				pause(ctx, restTime)
			}
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	m.flush(last)
}

// pause waits for d, and returns false if ctx ended before.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (m *Memory) flush(ctx context.Context) {
	m.mu.Lock()
	m.writing, m.pending = m.pending, map[types.UID]*pending{}
	writing := m.writing
	m.mu.Unlock()
	for _, p := range writing {
		if err := m.write(ctx, p); err != nil {
			// Warnings then name the manager from managed fields, without the command.
			klog.V(2).InfoS("commands of an object are not remembered", "path", p.object.Path, "err", err)
		}
	}
	m.mu.Lock()
	m.writing = nil
	m.mu.Unlock()
}

func (m *Memory) write(ctx context.Context, p *pending) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if p.gone {
		return m.remove(ctx, p.object.UID)
	}
	update := func(current runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
		record, ok := current.(*corev1.ConfigMap)
		if !ok {
			return nil, nil, fmt.Errorf("unexpected object %T", current)
		}
		commands := decode(record)
		for _, command := range p.commands {
			commands.Add(command)
		}
		data, err := json.Marshal(commands)
		if err != nil {
			return nil, nil, err
		}
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: string(p.object.UID), ResourceVersion: record.ResourceVersion},
			Data:       map[string]string{pathKey: p.object.Path, commandsKey: string(data)},
		}, nil, nil
	}
	return m.storage.GuaranteedUpdate(ctx, key(p.object.UID), &corev1.ConfigMap{}, true, nil, update, nil)
}

func (m *Memory) remove(ctx context.Context, uid types.UID) error {
	err := m.storage.Delete(ctx, key(uid), &corev1.ConfigMap{}, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{})
	if storage.IsNotFound(err) {
		return nil
	}
	return err
}

// The keys in a record.
const (
	pathKey     = "path"
	commandsKey = "commands"
)

func key(uid types.UID) string { return Prefix + "/" + string(uid) }

// decode decodes a record. It returns no commands if the record is malformed.
func decode(record *corev1.ConfigMap) ownership.Commands {
	var commands ownership.Commands
	if json.Unmarshal([]byte(record.Data[commandsKey]), &commands) != nil {
		return ownership.Commands{}
	}
	return commands
}
