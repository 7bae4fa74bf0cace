package recording

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage/value"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/fieldhistory"
)

// planned is what one transaction writes beside an object.
type planned struct {
	*write
	// again says that the last plan was made from another state than that in etcd.
	again  bool
	beside etcd.Beside
	// next is the state of the record that gets entries, and gone are the records that end.
	next state
	gone []types.UID
	// dropped are the entries that the bounds of the object remove, and bytes is by how much the sum of all records grows.
	dropped, bytes int
}

// begin adds the first entry of a new object.
func (p *planned) begin(ctx context.Context) error {
	if p.after == nil {
		return nil
	}
	return p.add(ctx, p.entry(), nil, p.after)
}

// update adds the entry of an update. If the object has changed without an entry, another one before says so.
func (p *planned) update(ctx context.Context) error {
	var err error
	if p.next, err = p.recorder.state(ctx, p.is, p.again); err != nil {
		return err
	}
	before := p.was.content
	if p.next.number > 0 && p.next.after != fieldhistory.Fingerprint(before.values) {
		gap := fieldhistory.Entry{
			Time: now(), ResourceVersion: p.was.version, APIVersion: before.apiVersion, Operation: fieldhistory.Update, Truncated: true,
		}
		if err := p.add(ctx, gap, before, before); err != nil {
			return err
		}
	}
	if err := p.add(ctx, p.entry(), before, p.after); err != nil {
		return err
	}
	p.trim()
	return nil
}

// end removes the record of an object that is deleted or replaced.
func (p *planned) end() {
	if p.was.uid == "" || !p.was.on && !p.recorder.used.Load() {
		return
	}
	p.beside.Deletes = append(p.beside.Deletes, etcd.WithPrefix(p.was.record()))
	p.gone = append(p.gone, p.was.uid)
	if known, ok := p.recorder.states.get(p.was.uid); ok {
		p.bytes -= known.bytes()
	}
}

// entry returns the entry of the write, without changes and number.
func (p *planned) entry() fieldhistory.Entry {
	writer := p.origin.writer(p.user)
	return fieldhistory.Entry{
		Time: now(), User: p.user, Manager: writer.Manager, Command: writer.Command, APIVersion: p.after.apiVersion, Operation: p.operation,
	}
}

// add adds an entry to the record of the object, with the changes between two contents. Without the first, it has none.
func (p *planned) add(ctx context.Context, entry fieldhistory.Entry, before, after *content) error {
	record, last := p.is.record(), p.next
	if last.number > 0 && len(p.beside.Puts) == 0 {
		p.beside.Present = append(p.beside.Present, etcd.Pair{Key: entryKey(record, last.number), Created: last.created})
	}
	entry.Number = last.number + 1
	if before == nil {
		before = after
	}
	bounds, options := p.recorder.Bounds, fieldhistory.Options{Lists: p.contents.Lists()}
	text, err := bounds.Encode(entry, before.values, after.values, options)
	if err != nil {
		return err
	}
	p.next.after = fieldhistory.Fingerprint(after.values)
	key := entryKey(record, entry.Number)
	stored, err := p.recorder.transformer(p.resource).TransformToStorage(ctx, encode(text, p.next.after), value.DefaultContext(key))
	if err != nil {
		return err
	}
	p.beside.Absent = append(p.beside.Absent, key)
	p.beside.Puts = append(p.beside.Puts, etcd.Pair{Key: key, Value: stored})
	p.next.number = entry.Number
	p.next.sizes = append(slices.Clip(last.sizes), int32(len(stored)))
	p.bytes += len(stored)
	return nil
}

// trim removes the oldest entries if the record exceeds its bounds. It keeps those that the transaction adds.
func (p *planned) trim() {
	p.dropped = min(p.recorder.Bounds.Surplus(p.next.sizes), len(p.next.sizes)-len(p.beside.Puts))
	if p.dropped <= 0 {
		p.dropped = 0
		return
	}
	record, first := p.is.record(), p.next.first()
	p.beside.Deletes = append(p.beside.Deletes, etcd.Span{First: entryKey(record, first), End: entryKey(record, first+int64(p.dropped))})
	kept := state{sizes: p.next.sizes[p.dropped:]}
	p.bytes += kept.bytes() - p.next.bytes()
	p.next.sizes = kept.sizes
}

// written notes what the transaction has written.
func (p *planned) written(revision int64) {
	r := p.recorder
	for _, uid := range p.gone {
		r.states.Remove(uid)
	}
	if len(p.beside.Puts) > 0 {
		r.used.Store(true)
		p.next.created = revision
		r.states.Add(p.is.uid, p.next)
	}
	r.metrics.entries.Add(float64(len(p.beside.Puts)))
	r.metrics.dropped.Add(float64(p.dropped))
	r.bytes.Add(int64(p.bytes))
}
