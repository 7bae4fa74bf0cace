package console_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"holdfast.dev/holdfast/internal/apiserver/console"
	"holdfast.dev/holdfast/internal/waittest"
)

// fixedVersion is an OperatorVersion with immutable parameters.
const fixedVersion = `
apiVersion: kudo.dev/v1beta1
kind: OperatorVersion
metadata: {name: fixed-0.1.0}
spec:
  operator: {name: fixed}
  version: 0.1.0
  parameters:
  - {name: FREE, default: a}
  - {name: ZONE, default: a, immutable: true}
  - {name: STORE, required: true, immutable: true}
  plans: {deploy: {phases: []}}
`

// fixedLocks are the locks of an Instance of fixedVersion.
func fixedLocks(version string) []console.Lock {
	lock := console.Lock{
		Reason: "parameter", Why: "the parameter is immutable in the OperatorVersion " + version, Rule: "every change is refused",
		Exception: "an upgrade to an OperatorVersion in which the parameter is not immutable",
	}
	zone := lock
	lock.Field, zone.Field = ".spec.parameters.STORE", ".spec.parameters.ZONE"
	return []console.Lock{lock, zone}
}

// testParameters checks the locks of immutable parameters, and that a user who may not get the
// OperatorVersion does not learn from a report which parameters are immutable.
func testParameters(t *testing.T, s server) {
	s.create(t, kudo+"operatorversions", fixedVersion)
	s.create(t, kudo+"instances", `
apiVersion: kudo.dev/v1beta1
kind: Instance
metadata: {name: fixed}
spec: {operatorVersion: {name: fixed-0.1.0}, parameters: {FREE: b, STORE: c}}
`)
	const path = kudo + "instances/fixed"
	report, _ := s.report(t, path)
	if diff := cmp.Diff(fixedLocks("fixed-0.1.0"), report.Locks); diff != "" || len(report.Notes) > 0 {
		t.Errorf("notes %q, locks (-want +got):\n%s", report.Notes, diff)
	}

	rule := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"kudo.dev"}, Resources: []string{"instances"}}
	s.allow(t, "auditor", rule)
	waittest.Until(t, "the auditor gets the report", func() bool { return s.as(t, "auditor", path).code == http.StatusOK })
	report = s.as(t, "auditor", path).report(t, path)
	hidden := []string{"you may not get the OperatorVersion fixed-0.1.0, which says which parameters are immutable"}
	if diff := cmp.Diff(hidden, report.Notes); diff != "" || len(report.Locks) > 0 {
		t.Errorf("locks %v, notes (-want +got):\n%s", report.Locks, diff)
	}
	rule.Resources = []string{"operatorversions"}
	s.allow(t, "auditor", rule)
	waittest.Until(t, "the auditor sees the locks", func() bool {
		return len(s.as(t, "auditor", path).report(t, path).Locks) == 2
	})
}

// testVersionElsewhere checks the locks of an Instance whose OperatorVersion is in another
// namespace.
func testVersionElsewhere(t *testing.T, s server) {
	s.create(t, "/api/v1/namespaces", "{apiVersion: v1, kind: Namespace, metadata: {name: packages}}")
	s.create(t, "/apis/kudo.dev/v1beta1/namespaces/packages/operatorversions", fixedVersion)
	s.create(t, kudo+"instances", `
apiVersion: kudo.dev/v1beta1
kind: Instance
metadata: {name: elsewhere}
spec: {operatorVersion: {name: fixed-0.1.0, namespace: packages}, parameters: {STORE: c}}
`)
	report, _ := s.report(t, kudo+"instances/elsewhere")
	if diff := cmp.Diff(fixedLocks("packages/fixed-0.1.0"), report.Locks); diff != "" || len(report.Notes) > 0 {
		t.Errorf("notes %q, locks (-want +got):\n%s", report.Notes, diff)
	}
}
