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
	// states are those of the records that get entries, and gone are the records that end at once.
	states map[types.UID]state
	gone   []types.UID
	// entries is the number of added entries, dropped that of those which the bounds of the object remove, and bytes is by how much the sum
	// of all records grows.
	entries, dropped, bytes int
}

// begin adds the first entry of a new object.
func (p *planned) begin(ctx context.Context) error {
	if p.after == nil {
		return nil
	}
	_, err := p.add(ctx, p.is, state{}, change{p.entry(p.after), p.after, p.after})
	return err
}

// update adds the entry of an update.
func (p *planned) update(ctx context.Context) error {
	return p.follow(ctx, p.is, change{p.entry(p.after), p.was.content, p.after})
}

// end removes the record of an object that is deleted or replaced, or adds its last entry if the server keeps it for a while.
func (p *planned) end(ctx context.Context) error {
	if p.was.uid == "" || !p.was.on && !p.recorder.used.Load() {
		return nil
	}
	record := p.was.record()
	if p.recorder.AfterDelete == 0 {
		p.beside.Deletes = append(p.beside.Deletes, etcd.WithPrefix(record))
		p.gone = append(p.gone, p.was.uid)
		if known, ok := p.recorder.states.get(p.was.uid); ok {
			p.bytes -= known.bytes()
		}
		return nil
	}
	last := change{p.entry(p.was.content), p.was.content, &content{}}
	last.entry.Operation = fieldhistory.Delete
	if !p.was.on {
		if known, err := p.recorder.state(ctx, p.was.writtenObject, p.again); err != nil || known.number == 0 {
			return err
		}
		// The content was not read. The writes since the label was removed are not recorded either.
		last.entry.Truncated, last.before, last.after = true, &content{}, &content{}
	}
	if err := p.follow(ctx, p.was.writtenObject, last); err != nil {
		return err
	}
	p.beside.Puts = append(p.beside.Puts, etcd.Pair{Key: expiryKey(last.entry.Time, p.was.uid), Value: []byte(record)})
	return nil
}

// entry returns the entry of the write, without changes and number.
func (p *planned) entry(of *content) fieldhistory.Entry {
	writer := p.origin.writer(p.user)
	e := fieldhistory.Entry{Time: now(), User: p.user, Manager: writer.Manager, Command: writer.Command, Operation: p.operation}
	if of != nil {
		e.APIVersion = of.apiVersion
	}
	return e
}

// change is an entry, with the contents before and after it.
type change struct {
	entry         fieldhistory.Entry
	before, after *content
}

// follow adds an entry after the newest one. If the object has changed without an entry, another one before says so.
func (p *planned) follow(ctx context.Context, of writtenObject, last change) error {
	is, err := p.recorder.state(ctx, of, p.again)
	if err != nil {
		return err
	}
	stored := len(is.sizes)
	if is.number > 0 && !last.entry.Truncated && (is.lost || is.after != fieldhistory.Fingerprint(last.before.values)) {
		gap := fieldhistory.Entry{
			Time: now(), ResourceVersion: of.version, APIVersion: last.before.apiVersion, Operation: fieldhistory.Update, Truncated: true,
		}
		if is, err = p.add(ctx, of, is, change{gap, last.before, last.before}); err != nil {
			return err
		}
	}
	if is, err = p.add(ctx, of, is, last); err != nil {
		return err
	}
	p.trim(of, is, stored)
	return nil
}

// add adds an entry to a record. It returns the state of the record.
func (p *planned) add(ctx context.Context, of writtenObject, is state, c change) (state, error) {
	record := of.record()
	if _, planned := p.states[of.uid]; is.number > 0 && !planned {
		p.beside.Present = append(p.beside.Present, etcd.Pair{Key: entryKey(record, is.number), Created: is.created})
	}
	is.number++
	c.entry.Number = is.number
	bounds, options := p.recorder.Bounds, fieldhistory.Options{Lists: p.contents.Lists()}
	text, err := bounds.Encode(c.entry, c.before.values, c.after.values, options)
	if err != nil {
		return is, err
	}
	is.after, is.lost = fieldhistory.Fingerprint(c.after.values), false
	key := entryKey(record, is.number)
	stored, err := p.recorder.transformer(p.resource).TransformToStorage(ctx, encode(text, is.after), value.DefaultContext(key))
	if err != nil {
		return is, err
	}
	p.beside.Absent = append(p.beside.Absent, key)
	p.beside.Puts = append(p.beside.Puts, etcd.Pair{Key: key, Value: stored})
	is.sizes = append(slices.Clip(is.sizes), int32(len(stored)))
	p.entries++
	p.bytes += len(stored)
	p.states[of.uid] = is
	return is, nil
}

// trim removes the oldest of the stored entries if a record exceeds its bounds.
func (p *planned) trim(of writtenObject, is state, stored int) {
	surplus := min(p.recorder.Bounds.Surplus(is.sizes), stored)
	if surplus == 0 {
		return
	}
	record, first, before := of.record(), is.first(), is.bytes()
	p.beside.Deletes = append(p.beside.Deletes, etcd.Span{First: entryKey(record, first), End: entryKey(record, first+int64(surplus))})
	is.sizes = is.sizes[surplus:]
	p.bytes += is.bytes() - before
	p.dropped += surplus
	p.states[of.uid] = is
}

// written notes what the transaction has written.
func (p *planned) written(revision int64) {
	r := p.recorder
	for _, uid := range p.gone {
		r.states.Remove(uid)
	}
	for uid, is := range p.states {
		r.used.Store(true)
		is.created = revision
		r.states.Add(uid, is)
	}
	r.metrics.entries.Add(float64(p.entries))
	r.metrics.dropped.Add(float64(p.dropped))
	r.grow(p.bytes)
}
