package guard

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/internal/policy"
)

// auditInterval is the interval of audits without another one in the configuration.
const auditInterval = 10 * time.Minute

// auditor audits the cluster again and again, while this replica is the leader. It has the findings as metrics, and in the report.
type auditor struct {
	config Config
	rules  *tracker
	report reporter
	meters *meters
	// kept gets the namespaces and definitions of the kept objects that the audit finds.
	kept *known
}

// run audits until ctx ends.
func (a auditor) run(ctx context.Context) {
	a.findHolders(ctx)
	interval := cmp.Or(a.config.AuditInterval, auditInterval)
	if interval < 0 {
		return
	}
	defer a.meters.findings.Reset() // another replica is the leader
	for ctx.Err() == nil {
		if err := a.audit(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "the cluster is not audited")
		}
		select {
		case <-ctx.Done():
		case <-time.After(interval):
		}
	}
}

// findHolders finds the namespaces and definitions of kept objects that are older than the guard.
func (a auditor) findHolders(ctx context.Context) {
	if a.config.PoliciesOnly {
		return // the server keeps them
	}
	found, err := storedObjects{server: a.rules.server}.holders(ctx, a.rules.defines)
	if err != nil && ctx.Err() == nil {
		klog.ErrorS(err, "kept objects are not found")
	}
	a.kept.tell(found)
}

func (a auditor) audit(ctx context.Context) error {
	one := &audit{server: a.rules.server, config: a.config, tolerant: true}
	if err := one.run(ctx); err != nil {
		return err
	}
	counts := map[string]int{}
	for _, found := range one.found {
		counts[found.Rule]++
	}
	for _, rule := range AuditRules() {
		a.meters.findings.WithLabelValues(rule.ID).Set(float64(counts[rule.ID]))
	}
	a.meters.audited.WithLabelValues().Set(float64(time.Now().Unix()))
	current := a.rules.current.Load()
	return a.report.update(ctx, func(results []any) []any {
		out := auditResults(one, current)
		for _, each := range results {
			if isRefusal(each) {
				out = append(out, each)
			}
		}
		return out
	})
}

// auditResults returns the results of a report: what is guarded, and the findings of an audit.
func auditResults(of *audit, current *policy.Table) []any {
	now := time.Now()
	var out []any
	add := func(one result) {
		one.at = now
		out = append(out, one.object())
	}
	for _, r := range current.Sorted() {
		by := map[string]bool{}
		for _, from := range r.Sources {
			by[cmp.Or(from.Policy, r.String())] = true
		}
		for _, name := range slices.Sorted(maps.Keys(by)) {
			add(result{policy: name, outcome: resultPass, message: "guards " + strings.Join(slices.Concat(r.Names(), r.Created()), ", ")})
		}
	}
	for _, k := range enforced(current) {
		add(result{policy: cmp.Or(k.Policy, k.resource.String()), outcome: resultPass, message: "keeps " + k.resource.String() + " from being deleted"})
	}
	for _, in := range of.gated {
		add(result{policy: in.GroupResource().String(), outcome: resultPass, message: "judges changes of the definition"})
	}
	for _, found := range of.found {
		outcome := resultFail
		if found.Severity != finding.Error {
			outcome = resultWarn
		}
		one := result{policy: policyOf(found), rule: found.Rule, outcome: outcome, message: found.Message}
		if found.Path != "" {
			one.message = found.Path + ": " + found.Message
		}
		if found.Object != one.policy {
			one.message = found.Object + ": " + one.message
		}
		if found.Fix != "" {
			one.properties = map[string]any{propertyFix: found.Fix}
		}
		add(one)
	}
	for _, name := range of.unread {
		add(result{policy: name, outcome: resultSkip, message: "the guard may not list this resource: see " + ReaderLabel})
	}
	return out
}

// policyOf returns the policy or definition of a finding, or else its resource.
func policyOf(f finding.Finding) string {
	kind, name, _ := strings.Cut(f.Object, "/")
	if kind == policy.Policies().Resource || kind == definitions().Resource {
		return name
	}
	return kind
}
