package guard_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/pasttest"
)

// pastPolicies are the policies of TestSoakPast. RUN is the name of the run. Only namespaces with its label are guarded.
const pastPolicies = `
apiVersion: guard.holdfast.dev/v1alpha1
kind: ImmutabilityPolicy
metadata: {name: RUN-NAME}
spec: {resources: [RESOURCE], rules: [RULES], namespaceSelector: {matchLabels: {run: RUN}}, objectSelector: {matchLabels: {set: SET}}}
`

// pastDefinition is a definition of TestSoakPast, without an annotation or with one.
const pastDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: PLURAL.RUN.example.com, annotations: {holdfast.dev/immutability: RULE}}
spec:
  group: RUN.example.com
  scope: Namespaced
  names: {plural: PLURAL, kind: KIND}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: string}, note: {type: string}, colour: {type: string}, extra: {type: string}}}}
`

// TestSoakPast shows a guard the past while users create, change and delete policies, definitions and objects, and create others of the
// same name. As soon as the status of a policy says that its rules are in force, the guard refuses what they forbid, also after a restart.
func TestSoakPast(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.create(definitions, strings.NewReplacer(
		"PLURAL", "clusterreports", "GROUP", "openreports.io", "VERSION", "v1alpha1", "KIND", "ClusterReport").Replace(reportDefinition))
	// Without patience: a user sees at once that the guard refuses a write, and lets its watches go on.
	var err error
	if f.client, err = dynamic.NewForConfig(f.server.Config(t)); err != nil {
		t.Fatal(err)
	}
	f.install()
	address := f.reviews.Addr().String()
	_, _ = f.reviews.Close(), f.checks.Close()
	pasttest.Run(t, pasttest.Scenario{
		Client: f.server.Config(t), Controller: func(ctx context.Context, config *rest.Config) { f.keepRunning(ctx, config, address) },
		Script: func(t *testing.T, run string) pasttest.Script {
			f := *f
			f.T = t
			t.Cleanup(func() {
				for _, name := range []string{"sizes", "notes", "keep", "last"} {
					_ = f.of(policies).Delete(context.WithoutCancel(t.Context()), run+"-"+name, metav1.DeleteOptions{})
				}
			})
			return (&pastRun{fixture: &f, run: run}).script()
		},
	})
}

// keepRunning runs a guard until ctx ends. A guard that ends with an error starts again, as in a Deployment.
func (f *fixture) keepRunning(ctx context.Context, config *rest.Config, address string) {
	for ctx.Err() == nil {
		if listener, err := net.Listen("tcp", address); err == nil {
			_ = guard.Run(ctx, guard.Config{
				Client: config, Webhook: listener, URL: "https://" + address, Identity: "test", AuditInterval: time.Second,
			})
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// script returns the steps of a run.
func (p *pastRun) script() pasttest.Script {
	space, held := p.run, p.run+"-held"
	return pasttest.Script{
		Steps: []pasttest.Step{
			p.namespace(space), p.namespace(held), p.asked(), p.define(widgetsPlural, ""), p.custom(widgetsPlural, "w", "plain"),
			p.policy("sizes", "immutable spec.size", "plain"), p.inForce("sizes"),
			p.refused(widgetsPlural, "w", "size"), p.accepted(widgetsPlural, "w", "note"),
			// The guard knows rules for the resource already.
			p.policy("notes", "immutable spec.note", "plain"), p.inForce("notes"),
			p.refused(widgetsPlural, "w", "note"), p.refused(widgetsPlural, "w", "size"),
			// Other rules in a policy of the same name and generation.
			p.unpolicy("sizes"), p.policy("sizes", "immutable spec.colour", "plain"), p.inForce("sizes"),
			p.refused(widgetsPlural, "w", "colour"), p.accepted(widgetsPlural, "w", "size"),
			p.rules("notes", "immutable spec.note, immutable spec.extra"), p.inForce("notes"),
			p.refused(widgetsPlural, "w", "extra"), p.refused(widgetsPlural, "w", "note"),
			// The API server asks about a kind as soon as its definition is stored.
			p.define(gadgetsPlural, "immutable spec.size"), p.covered(gadgetsPlural), p.custom(gadgetsPlural, "g", "plain"),
			p.undefine(gadgetsPlural), p.define(gadgetsPlural, "immutable spec.note"), p.covered(gadgetsPlural), p.custom(gadgetsPlural, "g", "plain"),
			// The rule keeps an object, and the namespace that holds it.
			p.configMap(held, "k", "kept"), p.policy("keep", "no-delete", "kept"), p.inForce("keep"),
			p.kept("the object", held+"/configmaps", "k"), p.kept("its namespace", "namespaces", held),
			p.unpolicy("keep"), p.removed(held+"/configmaps", "k"), p.configMap(held, "k", "kept"),
			p.policy("keep", "no-delete", "kept"), p.inForce("keep"),
			p.kept("the new object", held+"/configmaps", "k"), p.kept("its namespace", "namespaces", held),
			// The guard makes its own objects again.
			p.lose("holdfast-guard/secrets", guard.SecretName), p.refused(widgetsPlural, "w", "note"),
			p.lose(configurations, guard.Name), p.asked(), p.inForce("keep"),
			p.refused(widgetsPlural, "w", "note"), p.kept("the object", held+"/configmaps", "k"), p.kept("its namespace", "namespaces", held),
		},
		State: p.state,
		Want: p.sorted(`
RUN-keep 1 True all rules are in force [configmaps]
RUN-notes 2 True all rules are in force [widgets.RUN.example.com]
RUN-sizes 1 True all rules are in force [widgets.RUN.example.com]
widgets w map[colour:red extra:none note:other size:other]
gadgets g map[colour:red extra:none note:a size:small]
asked about gadgets by immutable.guard.holdfast.dev
asked about widgets by immutable.guard.holdfast.dev
asked about holder RUN-held
pass RUN-keep: guards configmaps
pass RUN-keep: keeps configmaps from being deleted
pass RUN-notes: guards widgets
pass RUN-sizes: guards widgets
pass gadgets.RUN.example.com: guards gadgets
the API server accepts the authority of the Secret`),
		Last: []pasttest.Step{
			p.custom(widgetsPlural, "last", "last"), p.policy("last", "immutable spec.size", "last"), p.inForce("last"),
			p.refused(widgetsPlural, "last", "size"), p.unpolicy("last"), p.accepted(widgetsPlural, "last", "size"),
		},
	}
}
