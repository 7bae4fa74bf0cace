package decision

import (
	"context"
	"errors"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/authorship"
)

// run says why a write starts a run of a plan.
type run int

const (
	// noRun means that the write starts no run.
	noRun run = iota
	// requestedRun means that the user of the write requests the run.
	requestedRun
	// deletionRun means that the run is the cleanup of a deleted Instance.
	deletionRun
)

// past is what is recorded on the stored Instance about its users.
type past struct {
	// record is the record of the last run. It counts only if known is true.
	record authorship.Record
	known  bool
	// records are the versions that the Instance had, and history the authors of their
	// parameters.
	records []api.Record
	history []authorship.Authors
	// restored and authors are the last record and its authors, if the write is a
	// rollback to it.
	restored map[string]string
	authors  authorship.Authors
}

// past opens the records on the stored Instance. A record that does not verify is treated
// as if it were absent.
func (r Review) past(ctx context.Context) (past, error) {
	var p past
	if r.Old == nil {
		return p, nil
	}
	var err error
	p.record, err = r.Keys.Record(ctx, r.Old)
	if err != nil && !errors.Is(err, authorship.ErrUnverified) {
		return p, err
	}
	p.known = err == nil
	if p.records, err = api.Records(r.Old); err != nil {
		return p, err
	}
	if len(p.records) == 0 {
		return p, nil
	}
	p.history, err = r.Keys.History(ctx, r.Old)
	switch {
	case errors.Is(err, authorship.ErrUnverified):
		p.history = nil
		for _, record := range p.records {
			p.history = append(p.history, unknownAuthors(record.Parameters))
		}
	case err != nil:
		return p, err
	}
	return p, nil
}

// push adds the version that an upgrade leaves, with the authors of its values.
func (p *past) push(left api.Record) {
	authors := p.record.Authors
	if !p.known {
		authors = unknownAuthors(left.Parameters)
	}
	p.records, p.history = append(p.records, left), append(p.history, authors)
}

// pop removes the last record that is about a version, and all later ones. It returns the values
// to restore, nil if there are none. A dependency may have more records than the version of its
// owner that worked, so the record need not be the last.
func (p *past) pop(version string) map[string]string {
	at := api.LastRecord(p.records, version)
	if at < 0 {
		return nil
	}
	p.restored, p.authors = p.records[at].Parameters, p.history[at]
	p.records, p.history = p.records[:at], p.history[:at]
	if p.restored == nil {
		p.restored = map[string]string{}
	}
	return p.restored
}

// unknownAuthors returns an author that is not known for each value.
func unknownAuthors(values map[string]string) authorship.Authors {
	authors := authorship.Authors{}
	for name := range values {
		authors[name] = []authorship.User{{}}
	}
	return authors
}

// recordInput is everything that the record of an accepted write depends on.
type recordInput struct {
	instance *api.Instance
	past     past
	authors  authors
	run      run
}

// setRecord seals the record of an accepted write. A write of the server or of the
// controller itself has no requester, so a run that it starts keeps the stored record. That
// record does not verify for the new run, and the controller does not act on it.
func (r Review) setRecord(ctx context.Context, in recordInput) error {
	if r.Old != nil && r.Old.Annotations[api.RecordsAnnotation] != in.instance.Annotations[api.RecordsAnnotation] {
		if err := r.Keys.SetHistory(ctx, in.instance, in.past.history); err != nil {
			return err
		}
	}
	record := in.past.record
	switch in.run {
	case requestedRun:
		if r.Requester.IsSystem(r.Controller) || !r.Requester.Known() {
			return nil
		}
		record = authorship.Record{Requester: r.Requester}
	case deletionRun:
		if !in.past.known {
			return nil
		}
		record.Deletion = true
	case noRun:
		if !in.past.known && !in.authors.takenOver {
			return nil
		}
	}
	record.Instance = in.instance.UID
	if r.Old == nil {
		record.Instance = "" // in some steps of admission, a create has no UID yet
	}
	record.Authors = in.authors.Authors
	return r.Keys.SetRecord(ctx, in.instance, record)
}
