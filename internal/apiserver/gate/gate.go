package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver/rights"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/change"
	"holdfast.dev/holdfast/internal/protection"
)

// Verb is the right to make the policy of a definition weaker.
const Verb = "loosen"

// warnTimeout bounds a scan that only leads to warnings.
const warnTimeout = 2 * time.Second

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
}

// New returns a gate.
func New(config Config) *Gate {
	return &Gate{Config: config, losses: prometheus.NewCounter(prometheus.CounterOpts{
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
	// policy is in force for the write.
	policy definition.GatePolicy
	report *report
}

// Review begins to judge a write.
func (g *Gate) Review(dryRun bool) *Review { return &Review{gate: g, dryRun: dryRun} }

// Create judges a new definition. It has objects if an earlier definition with its name was removed without them.
func (r *Review) Create(ctx context.Context, crd *definition.CustomResourceDefinition) error {
	if err := r.checkPolicy(ctx, r.gate.Policy, crd); err != nil {
		return err
	}
	former, err := r.gate.former(ctx, crd)
	if err != nil || former == nil {
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
	if closed && r.report.isAbout(old, crd) {
		// The kind was open while the other objects were read.
		if err := r.report.read(ctx, r.gate, r.timeout()); err != nil {
			return err
		}
		return r.decide(ctx)
	}
	if err := r.scan(ctx, old, crd, false); err != nil {
		return err
	}
	if r.policy != definition.Warn && !r.dryRun && !closed && r.report.reads {
		return ErrMustClose
	}
	return nil
}

// UpdateStatus judges a change of the stored versions of a definition.
func (r *Review) UpdateStatus(ctx context.Context, old, crd *definition.CustomResourceDefinition) error {
	r.policy = old.GatePolicy(r.gate.Policy)
	gone := slices.DeleteFunc(slices.Clone(old.Status.StoredVersions), func(version string) bool {
		return slices.Contains(crd.Status.StoredVersions, version)
	})
	if len(gone) == 0 {
		return nil
	}
	r.report = newReport(old, crd, change.Unstored(gone), nil)
	if err := r.report.read(ctx, r.gate, r.timeout()); err != nil {
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
	return apierrors.NewForbidden(definition.Resource, crd.Name, fmt.Errorf(
		"the policy of the definition would change from %s to %s, and the user may not %s it (annotation %s)", inForce, next, Verb, definition.GateAnnotation))
}

// scan compares two states of a definition, reads the stored objects if they matter, and decides.
func (r *Review) scan(ctx context.Context, old, crd *definition.CustomResourceDefinition, isNew bool) error {
	changes := change.Accepted(old, crd)
	var kind *change.Kind
	if slices.ContainsFunc(changes, change.Change.NeedsObjects) {
		compiled, err := change.Compile(old, crd)
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		kind = &compiled
	}
	r.report = newReport(old, crd, changes, kind)
	r.report.isNew = isNew
	if err := r.report.read(ctx, r.gate, r.timeout()); err != nil {
		return err
	}
	return r.decide(ctx)
}

func (r *Review) timeout() time.Duration {
	if r.policy == definition.Warn {
		return min(warnTimeout, r.gate.Timeout)
	}
	return r.gate.Timeout
}

// decide refuses a change by the policy in force.
func (r *Review) decide(ctx context.Context) error {
	if r.policy == definition.Warn {
		return nil
	}
	refused := change.Loss
	if r.policy == definition.RefuseBreaking {
		refused = change.Break
	}
	err := r.report.refuse(mayList(ctx, r.report.crd), refused, r.policy)
	if err != nil {
		protection.Refuse(ctx, protection.Definition)
	}
	return err
}

// mayList reports whether the user of a request may list the objects of a definition.
func mayList(ctx context.Context, crd *definition.CustomResourceDefinition) bool {
	return rights.MayList(ctx, resourceOf(crd).WithVersion(crd.Spec.StorageVersion()))
}

// resourceOf returns the resource of the objects of a definition.
func resourceOf(crd *definition.CustomResourceDefinition) schema.GroupResource {
	return schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
}
