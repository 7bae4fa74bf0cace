package guard_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/othercluster/guard/setup"
	"holdfast.dev/holdfast/internal/othercluster/installation"
)

func TestAudit(t *testing.T) {
	t.Parallel()
	f := start(t)
	installed := setup.Config{URL: &url.URL{Scheme: "https", Host: "127.0.0.1:9"}}
	if err := setup.Install(t.Context(), f.server.Config(t), installed, func(installation.Outcome) {}); err != nil {
		t.Fatal(err)
	}
	// The last applied configuration has a marker on spec.note, which neither the schema nor the annotation has.
	const applied = `{"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},` +
		`"versions":[{"name":"v1",` +
		`"served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":` +
		`{"note":{"type":"string","x-kubernetes-immutable":true},"size":{"type":"string","x-kubernetes-immutable":true}}}}}}}]}}`
	f.create(definitions, strings.Replace(widgetsDefinition, "{name: widgets.example.com}",
		`{name: widgets.example.com, annotations: {holdfast.dev/immutability: "immutable spec.size", holdfast.dev/definition-policy: refuse-loss, `+
			`kubectl.kubernetes.io/last-applied-configuration: '`+applied+`'}}`, 1))
	f.create(policies, `
apiVersion: guard.holdfast.dev/v1alpha1
kind: ImmutabilityPolicy
metadata: {name: p}
spec: {resources: [configmaps, nodes], rules: [immutable data, immutable spec]}
`)
	const widget = `{apiVersion: example.com/v1, kind: Widget, metadata: {name: NAME, annotations: ` +
		`{kubectl.kubernetes.io/last-applied-configuration: '{"apiVersion":"example.com/v1","kind":"Widget",` +
		`"spec":{"size":"SIZE","note":"x"}}'}}, ` +
		`spec: {size: small}}`
	for name, size := range map[string]string{"same": "small", "other": "big"} {
		f.create(widgets, strings.NewReplacer("NAME", name, "SIZE", size).Replace(widget))
	}
	found, objects, err := guard.Audit(t.Context(), guard.Config{Client: f.server.Config(t)})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range found {
		got = append(got, strings.Join([]string{one.Severity.String(), one.Rule, one.Object, one.Path, one.Message}, " | "))
	}
	slices.Sort(got)
	want := []string{
		"error | lost-marker | customresourcedefinitions/widgets.example.com | spec.note | " +
			"version v1: spec.note: x-kubernetes-immutable is gone, so it may change from now on",
		"error | not-guarded | configmaps |  | the webhook configuration holdfast-guard does not have it: is the guard running?",
		"error | not-guarded | customresourcedefinitions/widgets.example.com | metadata.annotations[holdfast.dev/definition-policy] | " +
			"the webhook configuration holdfast-guard does not have it: is the guard running?",
		"error | not-guarded | widgets.example.com |  | the webhook configuration holdfast-guard does not have it: is the guard running?",
		"error | rule-without-effect | immutabilitypolicies/p | spec | configmaps: immutable spec: the resource has no such field",
		"error | rule-without-effect | immutabilitypolicies/p | spec | nodes: this resource is never guarded",
		"warning | drift | widgets.example.com/default/other | spec.size | " +
			"the next kubectl apply of the same file is refused: field is immutable: changed",
		"warning | escape | customresourcedefinitions/widgets.example.com | " +
			"spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[size] | " +
			"immutable, but spec is optional: it can be removed and then set again with another value",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if objects < 2 {
		t.Errorf("%d objects", objects)
	}
}
