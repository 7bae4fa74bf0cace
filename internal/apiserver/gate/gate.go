package gate

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/warning"

	"holdfast.dev/holdfast/internal/apiserver/rights"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/assessment"
	"holdfast.dev/holdfast/internal/definition/change"
	"holdfast.dev/holdfast/internal/protection"
)

// Verb is the right to make the policy of a definition weaker.
const Verb = assessment.Verb

// warnTimeout bounds a scan that only leads to warnings.
const warnTimeout = 2 * time.Second

// LossAnnotation is the audit annotation of a write of a definition that loses something. Its value has the places in the definition.
const LossAnnotation = "definitions.holdfast.dev/loss"

// strictTimeout bounds the scan of a write of the server itself, for which no client waits.
const strictTimeout = time.Hour

// scans is how many reviews of clients read objects at the same time. Each holds a page of objects, of 64 MB at most.
const scans = 4

// ErrMustClose says that a change is allowed by the objects that were read, and that the kind must be closed for writes before the
// review can end.
var ErrMustClose = errors.New("the kind must be closed for writes")

// Objects reads stored objects, see storage.Readable.
type Objects interface {
	Scan(ctx context.Context, resource schema.GroupResource, after int64, visit func(storage.Stored) error) (int64, error)
}

// Config configures a Gate. All fields are required.
type Config struct {
	// Policy is in force for a definition without the annotation.
	Policy definition.GatePolicy
	// Timeout bounds the scan of a policy that refuses.
	Timeout time.Duration
	Objects Objects
}

// Gate judges changes of definitions.
type Gate struct {
	Config
	losses prometheus.Counter
	// scanning has an entry for each review that reads objects.
	scanning chan struct{}
}

// New returns a gate.
func New(config Config) *Gate {
	return &Gate{Config: config, scanning: make(chan struct{}, scans), losses: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "holdfast_definition_losses_total",
		Help: "Writes of CustomResourceDefinitions by which stored objects lose data or rules protect less.",
	})}
}

// Collectors returns the metrics of the gate.
func (g *Gate) Collectors() []prometheus.Collector { return []prometheus.Collector{g.losses} }

// Review judges one write of a definition.
type Review struct {
	gate   *Gate
	dryRun bool
	// strict says that a loss is refused by every policy, and that all objects are read.
	strict bool
	// policy is in force for the write.
	policy definition.GatePolicy
	report *assessment.Report
	// revision is the one up to which all objects are in the report.
	revision int64
}

// Review begins to judge a write.
func (g *Gate) Review(dryRun bool) *Review { return &Review{gate: g, dryRun: dryRun} }

// StrictReview begins to judge a write of the server itself. It refuses losses whatever the policy is, and takes the time that it needs to
// read all objects.
func (g *Gate) StrictReview() *Review { return &Review{gate: g, strict: true} }

// Create judges a new definition. It has objects if an earlier definition with its name was removed without them.
func (r *Review) Create(ctx context.Context, crd *definition.CustomResourceDefinition) error {
	r.report = nil // the store may ask again, and objects may be gone meanwhile
	if err := r.checkPolicy(ctx, r.gate.Policy, crd); err != nil {
		return err
	}
	former, late, err := r.former(ctx, crd)
	switch {
	case late:
		r.begin(assessment.Changes(crd, crd, nil))
		r.report.Late = r.timeout()
		return r.decide(ctx)
	case err != nil || former == nil:
		return err
	}
	return r.scan(ctx, former, crd, true)
}

// Update judges a change of a definition. closed says that the kind is closed for writes.
func (r *Review) Update(ctx context.Context, old, crd *definition.CustomResourceDefinition, closed bool) error {
	inForce := old.GatePolicy(r.gate.Policy)
	if err := r.checkPolicy(ctx, inForce, crd); err != nil {
		return err
	}
	if definition.SameForObjects(old, crd) {
		r.report = nil
		return nil
	}
	if closed && r.report.IsAbout(old, crd) {
		// The kind was open while the other objects were read.
		if err := r.read(ctx); err != nil {
			return err
		}
		return r.decide(ctx)
	}
	if err := r.scan(ctx, old, crd, false); err != nil {
		return err
	}
	if r.policy != definition.Warn && !r.dryRun && !closed && r.report.Reads {
		return ErrMustClose
	}
	return nil
}

// UpdateStatus judges a write of the status of a definition. It may change the stored versions, and annotations.
func (r *Review) UpdateStatus(ctx context.Context, old, crd *definition.CustomResourceDefinition) error {
	r.report, r.policy = nil, definition.RefuseLoss
	if !r.strict {
		if err := r.checkPolicy(ctx, old.GatePolicy(r.gate.Policy), crd); err != nil {
			return err
		}
	}
	report := assessment.CompareStatus(old, crd, change.Unstored(assessment.Unstored(old, crd)))
	if report == nil {
		return nil
	}
	// No object decides about a change of rules, so the kind need not be closed for writes.
	r.begin(report)
	if err := r.read(ctx); err != nil {
		return err
	}
	return r.decide(ctx)
}

// checkPolicy sets the policy in force, and refuses a write that makes it weaker without the right to do so.
func (r *Review) checkPolicy(ctx context.Context, inForce definition.GatePolicy, crd *definition.CustomResourceDefinition) error {
	r.policy = inForce
	next := crd.GatePolicy(r.gate.Policy)
	if !next.IsWeakerThan(inForce) || rights.MayWith(ctx, Verb, crd.Name) {
		return nil
	}
	protection.Refuse(ctx, protection.Definition)
	return assessment.Weaker(crd, inForce, next)
}

// scan compares two states of a definition, reads the stored objects if they matter, and decides.
func (r *Review) scan(ctx context.Context, old, crd *definition.CustomResourceDefinition, isNew bool) error {
	report, err := assessment.Compare(old, crd)
	if err != nil {
		return err
	}
	report.IsNew = isNew
	r.begin(report)
	if err := r.read(ctx); err != nil {
		return err
	}
	return r.decide(ctx)
}

// begin sets the report of the review, which has no objects yet.
func (r *Review) begin(report *assessment.Report) { r.report, r.revision = report, 0 }

func (r *Review) timeout() time.Duration {
	if r.strict {
		return strictTimeout
	}
	if r.policy == definition.Warn {
		return min(warnTimeout, r.gate.Timeout)
	}
	return r.gate.Timeout
}

// decide refuses a change by the policy in force.
func (r *Review) decide(ctx context.Context) error {
	err := r.report.Refuse(r.policy, r.names(ctx))
	if err != nil {
		protection.Refuse(ctx, protection.Definition)
	}
	return err
}

// names returns a function that reports whether the user of a request may list the objects of the definition.
func (r *Review) names(ctx context.Context) func() bool {
	return sync.OnceValue(func() bool {
		crd := r.report.CRD
		return rights.MayList(ctx, assessment.ResourceOf(crd).WithVersion(crd.Spec.StorageVersion()))
	})
}

// Announce adds the warnings about a definition that is stored, and counts a loss.
func (r *Review) Announce(ctx context.Context) {
	if r.report == nil {
		return
	}
	for _, text := range r.report.Warnings(r.policy, r.names(ctx)) {
		warning.AddWarning(ctx, "", text)
	}
	losses := r.report.Losses()
	if len(losses) == 0 {
		return
	}
	audit.AddAuditAnnotation(ctx, LossAnnotation, strings.Join(losses, ", "))
	if !r.dryRun {
		r.gate.losses.Inc()
	}
}
