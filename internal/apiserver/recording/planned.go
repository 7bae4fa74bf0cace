package recording

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage/value"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/failpoint"
	"holdfast.dev/holdfast/internal/fieldhistory"
)

// planned is what one transaction writes beside an object.
type planned struct {
	*write
	// again says that the last plan was made from another state than that in etcd.
	again bool
	// current says that this server has made the last write of the object, and so that no other server has added an entry: the comparison of
	// the revision of the object is enough.
	current bool
	beside  etcd.Beside
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
	_, err := p.add(ctx, p.is, state{}, change{p.entry(p.after), p.after, p.after, fieldhistory.Fingerprint(p.after.values)})
	return err
}

// update adds the entry of an update. If the object has changed without an entry, another one before says so.
func (p *planned) update(ctx context.Context) error {
	of := p.was.writtenObject
	is, err := p.recorder.state(ctx, of, p.again)
	if err != nil {
		return err
	}
	before, stored := is.after, len(is.sizes)
	if p.current = is.isOf(of) && !p.again; !p.current || is.by != p.number || !p.was.kept.isFixed() {
		whole, err := p.formerContent(ctx)
		if err != nil {
			return err
		}
		before = fieldhistory.Fingerprint(whole.values)
		if is, err = p.convert(ctx, is, whole, before); err != nil {
			return err
		}
	}
	after := fieldhistory.FingerprintAfter(before, p.before.values, p.after.values)
	is, err = p.follow(ctx, of, is, before, change{p.entry(p.after), p.before, p.after, after})
	p.trim(of, is, stored)
	return err
}

// convert adds an entry if the object is stored in another version now than when the newest entry was written. Its changes lead from the
// content in the one version to that in the other one. Without such an entry, history does not reach back beyond the change of the version.
func (p *planned) convert(ctx context.Context, is state, whole *content, fingerprint uint64) (state, error) {
	if is.number == 0 || is.lost || is.apiVersion == "" || is.apiVersion == whole.apiVersion {
		return is, nil
	}
	earlier := whole // with the same content, only the name of the version is another one
	if is.after != fingerprint {
		if earlier = p.was.kept.earlier(is.apiVersion); earlier == nil || fieldhistory.Fingerprint(earlier.values) != is.after {
			return is, nil
		}
	}
	of := p.was.writtenObject
	entry := fieldhistory.Entry{
		Time: now(), ResourceVersion: of.version, APIVersion: whole.apiVersion, PreviousVersion: is.apiVersion, Operation: fieldhistory.Convert,
	}
	return p.add(ctx, of, is, change{entry, earlier, whole, fingerprint})
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
			p.bytes -= known.total(record)
		}
		return nil
	}
	last := change{entry: p.entry(nil), before: &content{}, after: &content{}}
	last.entry.Operation = fieldhistory.Delete
	is, err := p.recorder.state(ctx, p.was.writtenObject, p.again)
	if err != nil {
		return err
	}
	if p.was.on {
		if last.before, err = p.formerContent(ctx); err != nil {
			return err
		}
		last.entry.APIVersion = last.before.apiVersion
	} else {
		if is.number == 0 {
			return nil
		}
		// The content was not read. The writes since the label was removed are not recorded either.
		last.entry.Truncated = true
	}
	stored := len(is.sizes)
	if is, err = p.follow(ctx, p.was.writtenObject, is, fieldhistory.Fingerprint(last.before.values), last); err != nil {
		return err
	}
	p.trim(p.was.writtenObject, is, stored)
	expiry := etcd.Pair{Key: expiryKey(last.entry.Time, p.was.uid), Value: []byte(record)}
	p.beside.Puts = append(p.beside.Puts, expiry)
	p.bytes += sizeOf(expiry)
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

// change is an entry, with the contents before and after it, and the fingerprint of the whole content after it.
type change struct {
	entry         fieldhistory.Entry
	before, after *content
	fingerprint   uint64
}

// follow adds an entry after the newest one of a record. If the object has changed without an entry, because its content before has another
// fingerprint, another entry before says so.
func (p *planned) follow(ctx context.Context, of writtenObject, is state, before uint64, last change) (next state, err error) {
	if is.number > 0 && !last.entry.Truncated && (is.lost || is.after != before) {
		gap := fieldhistory.Entry{
			Time: now(), ResourceVersion: of.version, APIVersion: last.before.apiVersion, Operation: fieldhistory.Update, Truncated: true,
		}
		if is, err = p.add(ctx, of, is, change{gap, &content{}, &content{}, before}); err != nil {
			return is, err
		}
	}
	return p.add(ctx, of, is, last)
}

// add adds an entry to a record. It returns the state of the record.
func (p *planned) add(ctx context.Context, of writtenObject, is state, c change) (state, error) {
	record := of.record()
	if _, planned := p.states[of.uid]; is.number > 0 && !planned && !p.current {
		p.beside.Present = append(p.beside.Present, etcd.Pair{Key: entryKey(record, is.number), Created: is.created})
	}
	is.number++
	c.entry.Number = is.number
	bounds, options := p.recorder.Bounds, fieldhistory.Options{Lists: p.contents.Lists()}
	text, err := bounds.Encode(c.entry, c.before.values, c.after.values, options)
	if err != nil {
		return is, err
	}
	is.after, is.apiVersion, is.lost = c.fingerprint, c.entry.APIVersion, false
	key := entryKey(record, is.number)
	stored, err := p.recorder.transformer(p.resource).TransformToStorage(ctx, encode(text, is.after), value.DefaultContext(key))
	if err != nil {
		return is, err
	}
	if !p.current {
		p.beside.Absent = append(p.beside.Absent, key)
	}
	entry := etcd.Pair{Key: key, Value: stored}
	p.beside.Puts = append(p.beside.Puts, entry)
	// append would make place for as many sizes again.
	is.sizes = slices.Concat(is.sizes, []int32{int32(len(stored))})
	p.entries++
	p.bytes += sizeOf(entry)
	p.states[of.uid] = is
	return is, nil
}

// trim removes the oldest of the stored entries if a record exceeds its bounds.
func (p *planned) trim(of writtenObject, is state, stored int) {
	surplus := min(p.recorder.Bounds.Surplus(is.sizes), stored)
	if surplus == 0 {
		return
	}
	record, first := of.record(), is.first()
	before := is.total(record)
	p.beside.Deletes = append(p.beside.Deletes, etcd.Span{First: entryKey(record, first), End: entryKey(record, first+int64(surplus))})
	is.sizes = is.sizes[surplus:]
	p.bytes += is.total(record) - before
	p.dropped += surplus
	p.states[of.uid] = is
}

// written notes what the transaction has written.
func (p *planned) written(revision int64) {
	failpoint.Reach("recording:written")
	r := p.recorder
	for _, uid := range p.gone {
		r.states.Remove(uid)
	}
	for uid, is := range p.states {
		r.used.Store(true)
		is.created, is.seen, is.by = revision, revision, p.number
		r.states.Add(uid, is)
	}
	r.metrics.entries.Add(float64(p.entries))
	r.metrics.dropped.Add(float64(p.dropped))
	r.grow(p.bytes)
}
