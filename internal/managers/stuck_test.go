package managers_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/managers"
	"holdfast.dev/holdfast/internal/native/judgement"
	"holdfast.dev/holdfast/internal/native/views"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

// lastApplied is the annotation of kubectl apply, in YAML.
func lastApplied(config string) string {
	text, err := json.Marshal(config)
	if err != nil {
		panic(err)
	}
	return `kubectl.kubernetes.io/last-applied-configuration: ` + string(text)
}

// entry is an entry of managed fields in the version of the object, in YAML. name is "MANAGER OPERATION SECOND [SUBRESOURCE]".
func entry(name, fields string) string {
	parts := append(strings.Fields(name), "")
	return fmt.Sprintf(`{manager: %s, operation: %s, apiVersion: VERSION, time: "2026-11-15T10:00:0%sZ", subresource: %q, fieldsType: FieldsV1, fieldsV1: %s}`,
		parts[0], parts[1], parts[2], parts[3], fields)
}

const (
	both  = `{"f:data": {"f:a": {}, "f:b": {}}}`
	onlyA = `{"f:data": {"f:a": {}}}`
	onlyB = `{"f:data": {"f:b": {}}}`
)

// examine examines a ConfigMap with the data a and b, and possibly a last-applied configuration.
func examine(t testing.TB, config string, gone []string, entries ...string) managers.Findings {
	t.Helper()
	annotation := ""
	if config != "" {
		annotation = lastApplied(config)
	}
	return examineObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: {`+annotation+`}, managedFields: [`+
		strings.Join(entries, ", ")+`]}, data: {a: "1", b: "2"}}`, gone)
}

func examineObject(t testing.TB, text string, gone []string) managers.Findings {
	t.Helper()
	found, err := managers.Examine(subject(t, text), gone)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var types = views.New()

func subject(t testing.TB, text string) ownership.Subject {
	t.Helper()
	object := yamltest.Object(t, text)
	object = yamltest.Object(t, strings.ReplaceAll(text, "VERSION", object.GetAPIVersion()))
	return ownership.Subject{
		Type: types.Of(object.GroupVersionKind().GroupKind()), Object: object.Object, Managers: object.GetManagedFields(),
	}
}

// lines returns the stuck fields as text: the reason, the entry that keeps the field, the manager that applies, the field.
func lines(found managers.Findings) []string {
	var out []string
	for _, one := range found.Stuck {
		out = append(out, fmt.Sprintf("%s: %s %s, %s: %s", one.Reason, one.Writer.Manager, one.Writer.Operation, one.Applier, one.Path))
	}
	slices.Sort(out)
	return out
}

func TestExamine(t *testing.T) {
	t.Parallel()
	const csa, helm, argo = "kubectl-client-side-apply Update ", "helm Update ", "argocd-controller Update "
	file := func(data string) string {
		return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":` + data + `}`
	}
	tests := map[string]struct {
		config  string
		gone    []string
		entries []string
		want    []string
	}{
		"one manager": {entries: []string{entry("kubectl Apply 1", both)}},
		"client-side apply only": {
			config: file(`{"a":"1","b":"2"}`), entries: []string{entry(csa+"1", both)},
		},
		"client-side apply after a migration": {
			entries: []string{entry(csa+"1", both), entry("kubectl Apply 2", onlyA)},
			want: []string{
				"co-owned: kubectl-client-side-apply Update, kubectl: .data.a",
				"left behind: kubectl-client-side-apply Update, kubectl: .data.b",
			},
		},
		"client-side apply, then another tool": {
			entries: []string{entry(csa+"1", onlyB), entry("kustomize-controller Apply 2", onlyA)},
			want:    []string{"left behind: kubectl-client-side-apply Update, kustomize-controller: .data.b"},
		},
		"before the first apply": {
			entries: []string{entry("before-first-apply Update 1", both), entry("ci Apply 2", onlyA)},
			want:    []string{"co-owned: before-first-apply Update, ci: .data.a", "left behind: before-first-apply Update, ci: .data.b"},
		},
		"an earlier operation of a tool": {
			entries: []string{entry(helm+"1", both), entry("helm Apply 2", onlyA)},
			want:    []string{"co-owned: helm Update, helm: .data.a", "left behind: helm Update, helm: .data.b"},
		},
		"an earlier name of a tool": {
			entries: []string{entry("argocd-application-controller Update 1", onlyB), entry("argocd-controller Apply 2", onlyA)},
			want:    []string{"left behind: argocd-application-controller Update, argocd-controller: .data.b"},
		},
		// A tool that applies with patches removes fields whatever entries they have.
		"a tool that went back to patches": {entries: []string{entry("helm Apply 1", both), entry(helm+"2", onlyA)}},
		"two tools": {
			entries: []string{entry(helm+"1", onlyB), entry("ci Apply 2", onlyA)},
		},
		"a manager that the user calls gone": {
			gone: []string{"helm", "old-ci"}, entries: []string{entry(helm+"1", onlyB), entry("old-ci Apply 1", both), entry("ci Apply 2", onlyA)},
			want: []string{
				"co-owned: old-ci Apply, ci: .data.a", "left behind: helm Update, ci: .data.b", "left behind: old-ci Apply, ci: .data.b",
			},
		},
		"two appliers": {entries: []string{entry("ci Apply 1", both), entry("deployer Apply 2", both)}},
		"ordinary writers": {
			entries: []string{
				entry("kubectl Apply 1", onlyA), entry("kube-controller-manager Update 2", onlyB), entry("kubectl-edit Update 2", onlyA),
			},
		},
		"an ordinary writer owns the field too": {
			entries: []string{entry(csa+"1", both), entry("kubectl Apply 2", onlyA), entry("kube-controller-manager Update 3 scale", both)},
		},
		"a subresource of client-side apply is an ordinary writer": {
			entries: []string{entry(csa+"1 status", both), entry("kubectl Apply 2", onlyA)},
		},
		"not recorded": {
			config: file(`{"a":"1","b":"2"}`), entries: []string{entry("kubectl Apply 1", onlyA)},
			want: []string{"not recorded:  , kubectl: .data.b"},
		},
		// kubectl apply removes it, because the configuration has it.
		"not recorded, with client-side apply": {config: file(`{"a":"1","b":"2"}`), entries: []string{entry(csa+"1", onlyA)}},
		"not applied": {
			config: file(`{"a":"1"}`), entries: []string{entry(csa+"1", both)},
			want: []string{"not applied: kubectl-client-side-apply Update, kubectl-client-side-apply: .data.b"},
		},
		"no configuration": {
			entries: []string{entry(csa+"1", onlyA)},
			want:    []string{"not applied: kubectl-client-side-apply Update, kubectl-client-side-apply: .data.a"},
		},
		"client-side apply again": {
			config: file(`{"a":"1"}`), entries: []string{entry("kubectl Apply 1", onlyB), entry(csa+"2", onlyA)},
			want: []string{"not applied: kubectl Apply, kubectl-client-side-apply: .data.b"},
		},
		"a field that the object no longer has": {
			entries: []string{entry(csa+"1", `{"f:data": {"f:gone": {}}}`), entry("kubectl Apply 2", onlyA)},
		},
		"a manager that is gone, with client-side apply": {
			config: file(`{"a":"1"}`), gone: []string{"old-ci"},
			entries: []string{entry("old-ci Update 1", both), entry(csa+"2", onlyA)},
			want:    []string{"left behind: old-ci Update, kubectl-client-side-apply: .data.b"},
		},
		"a manager that is gone, and no other": {
			gone: []string{"old-ci"}, entries: []string{entry("old-ci Apply 1", onlyA), entry("old-ci Update 1", onlyB), entry("kube-controller-manager Update 1", onlyA)},
			want: []string{"left behind: old-ci Update, : .data.b"},
		},
		"client-side apply is gone": {
			config: file(`{"a":"1"}`), gone: []string{"kubectl-client-side-apply"}, entries: []string{entry(csa+"1", onlyA)},
			want: []string{"left behind: kubectl-client-side-apply Update, : .data.a"},
		},
		"client-side apply of Argo CD": {
			config: file(`{"a":"1"}`), entries: []string{entry(argo+"1", both)},
			want: []string{"not applied: argocd-controller Update, argocd-controller: .data.b"},
		},
		"client-side apply of two versions of Argo CD": {
			config: file(`{"a":"1"}`), entries: []string{entry("argocd-application-controller Update 1", onlyB), entry(argo+"2", onlyA)},
			want: []string{"not applied: argocd-application-controller Update, argocd-controller: .data.b"},
		},
		// The configuration is that of kubectl, and a controller has patched the object.
		"updates of Argo CD beside kubectl apply": {
			config: file(`{"a":"1"}`), entries: []string{entry(csa+"1", onlyA), entry(argo+"2", onlyB)},
		},
		"updates of Argo CD without a configuration": {entries: []string{entry(argo+"1", both)}},
		"server-side apply of Argo CD before client-side": {
			config: file(`{"a":"1"}`), entries: []string{entry("argocd-controller Apply 1", onlyB), entry(argo+"2", onlyA)},
			want: []string{"not applied: argocd-controller Apply, argocd-controller: .data.b"},
		},
		"another version of the API": {
			config: file(`{"a":"1","b":"2"}`), entries: []string{
				strings.Replace(entry(csa+"1", both), "VERSION", "v2", 1), entry("kubectl Apply 2", onlyA),
			},
		},
		"the last-applied annotation itself": {
			config: file(`{"a":"1"}`), entries: []string{
				entry("kubectl-last-applied Apply 3", `{"f:metadata": {"f:annotations": {"f:kubectl.kubernetes.io/last-applied-configuration": {}}}}`),
				entry(csa+"1", `{"f:metadata": {"f:annotations": {".": {}, "f:kubectl.kubernetes.io/last-applied-configuration": {}}}}`),
				entry("kubectl Apply 2", onlyA),
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, lines(examine(t, test.config, test.gone, test.entries...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestExamineMarked examines an object of kubectl apply that Argo CD has taken over: a mark tells it.
func TestExamineMarked(t *testing.T) {
	t.Parallel()
	got := examineObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {argocd.argoproj.io/instance: shop}, annotations: {`+
		lastApplied(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{}}`)+`}, managedFields: [`+
		entry("kubectl-client-side-apply Update 1", onlyA)+", "+entry("argocd-controller Update 2", onlyB)+`]}, data: {a: "1", b: "2"}}`, nil)
	if diff := cmp.Diff([]string{
		"not applied: argocd-controller Update, argocd-controller: .data.b",
		"not applied: kubectl-client-side-apply Update, argocd-controller: .data.a",
	}, lines(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestExamineSilence checks what Examine says about entries that it does not examine, and about appliers that may be gone.
func TestExamineSilence(t *testing.T) {
	t.Parallel()
	old := func(name string) string { return strings.Replace(entry(name, both), "VERSION", "v2", 1) }
	const config = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"1"}}`
	tests := map[string]struct {
		config     string
		entries    []string
		unexamined []managers.Unexamined
		appliers   []string
	}{
		"an earlier entry": {
			entries:    []string{old("kubectl-client-side-apply Update 1"), entry("kubectl Apply 2", onlyA)},
			unexamined: []managers.Unexamined{{Writer: managers.Writer{Manager: "kubectl-client-side-apply", Operation: "Update"}, Version: "v2"}},
		},
		"with client-side apply only": {
			config: config, entries: []string{old("kubectl-client-side-apply Update 1")},
			unexamined: []managers.Unexamined{{Writer: managers.Writer{Manager: "kubectl-client-side-apply", Operation: "Update"}, Version: "v2"}},
		},
		"another entry, with a configuration": {
			config: config, entries: []string{old("third Update 1"), entry("kubectl Apply 2", onlyA)},
			unexamined: []managers.Unexamined{{Writer: managers.Writer{Manager: "third", Operation: "Update"}, Version: "v2"}},
		},
		"another entry": {entries: []string{old("third Update 1"), entry("kubectl Apply 2", onlyA)}},
		"two appliers":  {entries: []string{entry("deployer Apply 2", onlyB), entry("ci Apply 1", onlyA)}, appliers: []string{"ci", "deployer"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := examine(t, test.config, nil, test.entries...)
			if diff := cmp.Diff(test.unexamined, got.Unexamined); diff != "" {
				t.Errorf("not examined (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.appliers, got.Appliers); diff != "" {
				t.Errorf("appliers (-want +got):\n%s", diff)
			}
		})
	}
}

// TestExamineItems examines a Deployment whose containers are items of a list, with defaults in the entry of client-side apply.
func TestExamineItems(t *testing.T) {
	t.Parallel()
	const object = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, managedFields: [%s, %s]}, spec: {replicas: 2, ` +
		`progressDeadlineSeconds: 600, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {` +
		`restartPolicy: Always, serviceAccount: a, serviceAccountName: a, containers: [` +
		`{name: web, image: "web:1", imagePullPolicy: IfNotPresent, args: [x]}, {name: side, image: side, imagePullPolicy: Always}]}}}}`
	const clientSide = `{"f:spec": {"f:progressDeadlineSeconds": {}, "f:replicas": {}, "f:selector": {}, "f:template": {"f:spec": {` +
		`"f:restartPolicy": {}, "f:serviceAccount": {}, "f:serviceAccountName": {}, "f:containers": {` +
		`'k:{"name":"web"}': {".": {}, "f:name": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:args": {}},` +
		`'k:{"name":"side"}': {".": {}, "f:name": {}, "f:image": {}, "f:imagePullPolicy": {}}}}}}}`
	const applied = `{"f:spec": {"f:selector": {}, "f:template": {"f:spec": {"f:serviceAccountName": {}, "f:containers": {` +
		`'k:{"name":"web"}': {".": {}, "f:name": {}, "f:image": {}}}}}}}`
	got := examineObject(t, fmt.Sprintf(object, entry("kubectl-client-side-apply Update 1", clientSide), entry("kubectl Apply 2", applied)), nil)
	const by = "kubectl-client-side-apply Update, kubectl: "
	if diff := cmp.Diff([]string{
		"co-owned: " + by + ".spec.selector",
		"co-owned: " + by + ".spec.template.spec.serviceAccountName",
		`co-owned: ` + by + `.spec.template.spec.containers[name="web"]`,
		"left behind: " + by + ".spec.replicas",
		`left behind: ` + by + `.spec.template.spec.containers[name="side"]`,
		`left behind: ` + by + `.spec.template.spec.containers[name="web"].args`,
	}, lines(got), cmp.Transformer("sorted", func(in []string) []string { return slices.Sorted(slices.Values(in)) })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestExamineEmptied examines a definition that kubectl has applied. The server sets spec.conversion, which has nothing but the default.
func TestExamineEmptied(t *testing.T) {
	t.Parallel()
	of := subject(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: boats.example.com, annotations: {`+
		lastApplied(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"boats.example.com"},"spec":{"group":"example.com"}}`)+
		`}, managedFields: [`+entry("kubectl-client-side-apply Update 1", `{"f:spec": {"f:group": {}, "f:names": {"f:categories": {}}, "f:conversion": {".": {}, "f:strategy": {}}}}`)+
		`]}, spec: {group: example.com, names: {categories: [all]}, conversion: {strategy: None}}}`)
	of.Type = judgement.DefinitionType()
	got, err := managers.Examine(of, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"not applied: kubectl-client-side-apply Update, kubectl-client-side-apply: .spec.names.categories"}, lines(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExamineAggregatedRules(t *testing.T) {
	t.Parallel()
	got := examineObject(t, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r, managedFields: [`+
		entry("kubectl-client-side-apply Update 1", `{"f:rules": {}}`)+", "+entry("kubectl Apply 2", `{"f:aggregationRule": {}}`)+
		`]}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}, rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]}`, nil)
	if len(got.Stuck) > 0 {
		t.Errorf("stuck: %v", lines(got))
	}
}

func TestExamineTools(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		entries []string
		want    []managers.Mixed
	}{
		"one manager": {entries: []string{entry("helm Update 1", both), entry("helm Update 2", onlyA)}},
		"kubectl": {
			entries: []string{entry("kubectl Apply 2", onlyA), entry("kubectl-client-side-apply Update 1", both)},
			want:    []managers.Mixed{{Tool: "kubectl", Writers: []managers.Writer{{Manager: "kubectl", Operation: "Apply"}, {Manager: "kubectl-client-side-apply", Operation: "Update"}}}},
		},
		"the manager of the annotation does not count": {entries: []string{
			entry("kubectl Apply 2", onlyA),
			entry("kubectl-last-applied Apply 3", `{"f:metadata": {"f:annotations": {"f:kubectl.kubernetes.io/last-applied-configuration": {}}}}`),
		}},
		"a subresource does not count": {entries: []string{entry("argocd-controller Apply 2", onlyA), entry("argocd-controller Update 1 status", both)}},
		"two operations": {
			entries: []string{entry("argocd-controller Apply 2", onlyA), entry("argocd-controller Update 1", both)},
			want: []managers.Mixed{{Tool: "Argo CD", Writers: []managers.Writer{
				{Manager: "argocd-controller", Operation: "Apply"}, {Manager: "argocd-controller", Operation: "Update"},
			}}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, examine(t, "", nil, test.entries...).Tools); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNearLimit(t *testing.T) {
	t.Parallel()
	var entries []string
	for i := range 8 {
		found := examine(t, "", nil, entries...)
		if found.NearLimit() || found.Updates != i {
			t.Errorf("%d entries: %d updates, near %v", i, found.Updates, found.NearLimit())
		}
		entries = append(entries, entry(fmt.Sprintf("m%d Update 1", i), onlyA))
	}
	if found := examine(t, "", nil, entries...); !found.NearLimit() || found.Updates != 8 {
		t.Errorf("8 entries: %d updates, near %v", found.Updates, found.NearLimit())
	}
	if found := examine(t, "", nil, entry("ancient-changes Update 1", onlyA)); !found.NearLimit() || !found.Merged {
		t.Error("merged entries are not near the limit")
	}
}

func TestExamineMalformed(t *testing.T) {
	t.Parallel()
	_, err := managers.Examine(subject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, managedFields: [`+
		entry("kubectl Apply 1", `{"x": {}}`)+`]}}`), nil)
	if err == nil || !strings.Contains(err.Error(), "managed fields of kubectl") {
		t.Errorf("error %v", err)
	}
}
