package lint_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/frozen"
	"holdfast.dev/holdfast/internal/operator/pack"
	"holdfast.dev/holdfast/internal/operator/render"
	"holdfast.dev/holdfast/parameters"
)

const examples = "../../../examples/operators"

// load reads one version of an example.
func load(t *testing.T, operator, version string) *pack.Package {
	t.Helper()
	p, err := pack.Load(filepath.Join(examples, operator, version))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// upgrades lists the versions of each example in order, with the values that the
// installation or the upgrade needs.
var upgrades = map[string][]struct {
	version string
	values  map[string]string
	// refused are the messages that refuse the step if these values are missing.
	refused []string
}{
	"zookeeper": {
		{
			version: "0.1.0",
			values:  map[string]string{"CLUSTER_NAME": "main"},
			refused: []string{"parameter 'CLUSTER_NAME' is required but no value was provided"},
		},
		{version: "0.2.0", values: map[string]string{"POD_POLICY": "Parallel", "BACKUP_CLASS": "slow"}, refused: []string{
			"parameter 'POD_POLICY' was changed to immutable in operator version 0.2.0 but no value was provided",
			`parameter 'BACKUP_CLASS' was added in operator version 0.2.0, but no value was provided (default would be "")`,
		}},
		{version: "0.3.0", values: map[string]string{"TENANT": "harbour"}, refused: []string{
			"parameter 'TENANT' was added in operator version 0.3.0, but no value was provided",
		}},
	},
	"kafka": {
		{
			version: "1.0.0",
			values:  map[string]string{"ZOOKEEPER_URI": "zk-cs:2181"},
			refused: []string{"parameter 'ZOOKEEPER_URI' is required but no value was provided"},
		},
		{version: "1.1.0", values: map[string]string{"ZOOKEEPER_URI": "zk-cs:2181", "RACK_LABEL": "example.com/rack"}, refused: []string{
			"parameter 'ZOOKEEPER_URI' was changed to immutable in operator version 1.1.0 but no value was provided",
			"parameter 'RACK_LABEL' was added in operator version 1.1.0, but no value was provided (default would be topology.kubernetes.io/zone)",
		}},
		{version: "2.0.0", values: map[string]string{"CLUSTER_ID": "MkU3OEVBNTcwNTJENDM2Qg"}, refused: []string{
			"parameter 'CLUSTER_ID' was added in operator version 2.0.0, but no value was provided",
		}},
	},
}

// TestExamples installs and upgrades every example, without a server. It checks the
// messages of refused steps, that every case of the upgrade rules occurs, and that no
// step renders an object that Kubernetes would refuse as an update of the previous one.
func TestExamples(t *testing.T) {
	for operator, steps := range upgrades {
		t.Run(operator, func(t *testing.T) {
			var from *parameters.Version
			var stored map[string]string
			var before map[string]runtime.Object
			rows := map[parameters.Mutability]bool{}
			for _, step := range steps {
				p := load(t, operator, step.version)
				if findings := p.Verify(); len(findings) > 0 {
					t.Errorf("%s: %v", step.version, findings)
				}
				to := p.Definitions()
				if len(to.Definitions) < 20 {
					t.Errorf("%s: %d parameters", step.version, len(to.Definitions))
				}
				decide := func(wanted map[string]string, names []string) parameters.Decision {
					if from == nil {
						return parameters.Install(to, parameters.Request{Wanted: wanted})
					}
					return parameters.Upgrade(from, to, parameters.Request{Stored: stored, Wanted: wanted, Consented: names})
				}
				var refused []string
				for _, refusal := range decide(maps.Clone(stored), nil).Refusals {
					refused = append(refused, refusal.Message)
				}
				if diff := cmp.Diff(step.refused, refused); diff != "" {
					t.Errorf("%s: refused (-want +got):\n%s", step.version, diff)
				}
				wanted, names := map[string]string{}, []string(nil)
				maps.Copy(wanted, stored)
				for name, value := range step.values {
					wanted[name] = value
					names = append(names, name)
				}
				decision := decide(wanted, names)
				if err := decision.Err(); err != nil {
					t.Fatalf("%s: %v", step.version, err)
				}
				for _, row := range decision.Rows {
					if from != nil {
						rows[row.Mutability] = true
					}
				}
				after := objects(t, p, decision.Values)
				for key, object := range before {
					// A plan deletes this job before it creates it again.
					if other, found := after[key]; found && key != "Job main-backup" {
						for _, refusal := range frozen.Check(other, object) {
							t.Errorf("%s: %s: %v", step.version, key, refusal)
						}
					}
				}
				from, stored, before = to, decision.Values, after
			}
			for _, row := range []parameters.Mutability{
				parameters.Mutable, parameters.Immutable, parameters.BecomesImmutable,
				parameters.BecomesMutable, parameters.AddedImmutable, parameters.Removed,
			} {
				if !rows[row] {
					t.Errorf("no parameter is %q", row)
				}
			}
		})
	}
}

// objects renders all templates of a package and returns the objects, with defaults, by
// kind and name.
func objects(t *testing.T, p *pack.Package, values map[string]string) map[string]runtime.Object {
	t.Helper()
	scheme := native.NewScheme()
	all := map[string]runtime.Object{}
	for name, source := range p.Templates {
		text, err := render.Template(t.Context(), name, source, render.Values{
			Name: "main", Namespace: "prod", OperatorName: p.Operator.Name, Params: p.Definitions().Effective(values),
		})
		if err != nil {
			t.Fatal(err)
		}
		found, err := render.Objects(text)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		meta := render.Meta{Operator: p.Operator.Name, Instance: "main", Namespace: "prod", Plan: "deploy", Phase: "p", Step: "s"}
		if err := render.Label(found, meta, render.Builtin); err != nil {
			t.Fatal(err)
		}
		for _, object := range found {
			all[fmt.Sprintf("%s %s", object.GetKind(), object.GetName())] = typed(t, scheme, object)
		}
	}
	return all
}

// typed converts an object to its Go type and sets defaults.
func typed(t *testing.T, scheme *runtime.Scheme, object *unstructured.Unstructured) runtime.Object {
	t.Helper()
	stored, err := scheme.New(object.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	// An unknown field is an error here; a server would drop it.
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, stored, true); err != nil {
		t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
	scheme.Default(stored)
	return stored
}

// TestFrozenInExamples checks that lint finds the one mistake in the first version of an
// example and none in the latest versions.
func TestFrozenInExamples(t *testing.T) {
	tests := map[string][]string{
		"zookeeper/0.1.0": {`params.yaml: parameters[2]: parameter "POD_POLICY" flows into spec.podManagementPolicy ` +
			`of StatefulSet instance (templates/statefulset.yaml), which cannot change, but is not immutable`},
		"zookeeper/0.3.0": nil,
		"kafka/2.0.0":     nil,
		"guestbook/0.1.0": nil,
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, findings(t, filepath.Join(examples, name))); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
