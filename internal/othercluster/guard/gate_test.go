package guard_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// ferries is a definition of which the tests change parts.
type ferries struct {
	plural string
	// policy is that of the annotation, none if it is empty, and rules are those of the annotation for immutable fields.
	policy, rules string
	// one and two are the properties of spec in v1 and v2. Without two, there is no v2.
	one, two string
	// storage is the storage version, v1 if it is empty, and hidden a version that is not served.
	storage, hidden string
}

func (d ferries) name() string { return d.plural + ".gate.example.com" }

func (d ferries) text() string {
	version := func(name, spec string) string {
		return fmt.Sprintf("{name: %s, served: %t, storage: %t, schema: {openAPIV3Schema: {type: object, properties: "+
			"{spec: {type: object, properties: {%s}}}}}}", name, name != d.hidden, name == d.storage || d.storage == "" && name == "v1", spec)
	}
	versions := version("v1", d.one)
	if d.two != "" {
		versions += ", " + version("v2", d.two)
	}
	var annotations []string
	if d.policy != "" {
		annotations = append(annotations, "holdfast.dev/definition-policy: "+d.policy)
	}
	if d.rules != "" {
		annotations = append(annotations, "holdfast.dev/immutability: "+d.rules)
	}
	return fmt.Sprintf("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %s, annotations: {%s}}, "+
		"spec: {group: gate.example.com, scope: Namespaced, names: {plural: %s, kind: %s}, versions: [%s]}}",
		d.name(), strings.Join(annotations, ", "), d.plural, strings.ToUpper(d.plural[:1])+d.plural[1:], versions)
}

// stored creates the definition, and an object for each spec.
func (f *fixture) stored(d ferries, specs ...string) {
	f.Helper()
	f.create(definitions, d.text())
	waittest.Until(f.T, d.plural+" are served", func() error {
		found, err := f.of(definitions).Get(f.Context(), d.name(), metav1.GetOptions{})
		if err != nil || !strings.Contains(fmt.Sprint(found.Object["status"]), "type:Established") {
			return fmt.Errorf("%v, %w", found, err)
		}
		return nil
	})
	for i, spec := range specs {
		f.create("default/"+d.plural+".v1.gate.example.com", fmt.Sprintf("{apiVersion: gate.example.com/v1, kind: %s, metadata: {name: f%d}, spec: %s}",
			strings.ToUpper(d.plural[:1])+d.plural[1:], i, spec))
	}
}

// replace replaces a definition as a user.
func (f *fixture) replace(user string, next ferries, options metav1.UpdateOptions) (*recorder, error) {
	f.Helper()
	by, obj := f.as(user), yamltest.Object(f, next.text())
	if user == admin {
		by = f
		by.warnings.texts = nil
	}
	// The server writes conditions of the definition at the same time.
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		stored, err := f.of(definitions).Get(f.Context(), next.name(), metav1.GetOptions{})
		if err != nil {
			f.Fatal(err)
		}
		obj.SetResourceVersion(stored.GetResourceVersion())
		_, err = by.of(definitions).Update(f.Context(), obj, options)
		return err
	})
	return by.warnings, err
}

// reviewed asks the guard about a change of a stored definition.
func (f *fixture) reviewed(user string, next *unstructured.Unstructured, subresource string) *admissionv1.AdmissionResponse {
	f.Helper()
	request := &admissionv1.AdmissionRequest{
		UID: "1", Operation: admissionv1.Update, Name: next.GetName(), SubResource: subresource,
		Kind:     metav1.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		Resource: metav1.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		UserInfo: authenticationv1.UserInfo{Username: user}, Object: runtime.RawExtension{Raw: encode(f.T, next.Object)}, DryRun: new(true),
	}
	old, err := f.of(definitions).Get(f.Context(), next.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		request.Operation = admissionv1.Create
	case err != nil:
		f.Fatal(err)
	default:
		request.OldObject.Raw = encode(f.T, old.Object)
	}
	status, answered := f.post(f.address(guard.GateWebhook), request)
	if answered == nil {
		f.Fatal(status)
	}
	return answered
}

// gateUsers creates users that may change definitions. Only bob may loosen them and list objects.
func (f *fixture) gateUsers() {
	f.Helper()
	for user, rules := range map[string]string{
		"ann": "",
		"bob": `, {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [loosen]}, ` +
			`{apiGroups: [gate.example.com], resources: ["*"], verbs: [list]}`,
	} {
		f.create("clusterroles.v1.rbac.authorization.k8s.io", `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: `+user+`}, `+
			`rules: [{apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions, customresourcedefinitions/status], `+
			`verbs: [create, get, update, patch]}`+rules+`]}`)
		f.create("clusterrolebindings.v1.rbac.authorization.k8s.io", `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: `+user+
			`}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: `+user+`}, `+
			`subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: `+user+`}]}`)
		servertest.AwaitRight(f.T, f.server.Client(f.T), user, authorizationv1.ResourceAttributes{
			Verb: "update", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions",
		})
	}
}

// gated starts a guard, and waits until the API server asks it about definitions.
func (f *fixture) gated() {
	f.Helper()
	f.run()
	d := ferries{plural: "probes", policy: "refuse-breaking", one: onlyA}
	f.stored(d)
	d.one = "a: {type: integer}"
	f.awaitGate(d)
}

// awaitGate waits until the guard refuses a change.
func (f *fixture) awaitGate(next ferries) {
	f.Helper()
	waittest.Until(f.T, "the guard is asked about definitions", func() error {
		_, err := f.replace(admin, next, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), guard.GateWebhook) {
			return fmt.Errorf("not the guard: %w", err)
		}
		return nil
	})
}

const (
	admin = "admin" // the user of the fixture

	onlyA = "a: {type: string}"
	aAndB = "a: {type: string}, b: {type: string}"
	short = "a: {type: string, maxLength: 1}, b: {type: string}"
)

// many returns properties, each with a text at its end.
func many(with string) string {
	var out []string
	for i := range 12 {
		out = append(out, fmt.Sprintf("p%02d: {type: string%s}", i, with))
	}
	return strings.Join(out, ", ")
}

// TestGateOfServer sends the same changes of definitions to our server and, as reviews, to the guard. The status and the warnings must be
// the same byte for byte.
func TestGateOfServer(t *testing.T) {
	t.Parallel()
	server, guarded := start(t), start(t)
	guarded.gated()
	server.gateUsers()
	guarded.gateUsers()
	const lost = "the field is gone: stored objects lose it when they are read, and kubectl refuses files that set it"
	for i, test := range []struct {
		what, user string
		was, is    ferries
		specs      []string
		// want is part of the answer: of the message, of the warnings, or "ok".
		want string
	}{
		{"a field goes", "bob", ferries{policy: "refuse-loss", one: aAndB}, ferries{policy: "refuse-loss", one: onlyA}, []string{"{b: x}", "{a: x}", "{b: z}"}, lost + " (2 stored objects: default/f0, default/f2)"},
		{"names are hidden", "ann", ferries{policy: "refuse-loss", one: aAndB}, ferries{policy: "refuse-loss", one: onlyA}, []string{"{b: x}"}, lost + " (1 stored object); the policy"},
		{"no object has the field", "bob", ferries{policy: "refuse-loss", one: aAndB}, ferries{policy: "refuse-loss", one: onlyA}, []string{"{a: x}"}, "ok"},
		{"no object", "bob", ferries{policy: "refuse-breaking", one: aAndB}, ferries{policy: "refuse-breaking", one: onlyA}, nil, "ok"},
		{"a defaulted field", "bob", ferries{policy: "refuse-loss", one: "a: {type: string}, b: {type: string, default: x}"}, ferries{policy: "refuse-loss", one: onlyA}, []string{"{a: x}"}, lost},
		{"a break", "bob", ferries{policy: "refuse-breaking", one: aAndB}, ferries{policy: "refuse-breaking", one: short}, []string{"{a: xx}", "{a: x}"}, "(1 stored object: default/f0)"},
		{"a break is not refused", "ann", ferries{policy: "refuse-loss", one: aAndB}, ferries{policy: "refuse-loss", one: short}, []string{"{a: xx}"}, "(1 stored object)"},
		{"many breaks", "bob", ferries{policy: "refuse-loss", one: many("")}, ferries{policy: "refuse-loss", one: many(", maxLength: 1")}, []string{"{p01: xx}"}, "2 changes more"},
		{"a default", "bob", ferries{policy: "refuse-breaking", one: aAndB}, ferries{policy: "refuse-breaking", one: "a: {type: string, default: x}, b: {type: string}"}, []string{"{b: x}"}, "stored objects without the field have the default"},
		{"a new field", "ann", ferries{policy: "refuse-breaking", one: onlyA}, ferries{policy: "refuse-breaking", one: aAndB}, []string{"{a: x}"}, "ok"},
		{"a field of another version", "bob", ferries{policy: "refuse-breaking", one: aAndB, two: aAndB}, ferries{policy: "refuse-breaking", one: aAndB, two: onlyA}, []string{"{b: x}"}, "the field is gone"},
		{"another storage version", "bob", ferries{policy: "refuse-loss", one: aAndB, two: onlyA}, ferries{policy: "refuse-loss", one: aAndB, two: onlyA, storage: "v2"}, []string{"{b: x}"}, "does not have spec.b of version v1"},
		{"a weaker rule", "bob", ferries{policy: "refuse-loss", rules: "immutable spec.a", one: aAndB}, ferries{policy: "refuse-loss", one: aAndB}, nil, "the policy refuse-loss of the definition refuses this"},
		{"a weaker policy", "bob", ferries{policy: "refuse-loss", one: aAndB}, ferries{one: aAndB}, []string{"{b: x}"}, "ok"},
		{"a weaker policy without the right", "ann", ferries{policy: "refuse-breaking", one: aAndB}, ferries{policy: "refuse-loss", one: aAndB}, nil, "would change from refuse-breaking to refuse-loss, and the user may not loosen it"},
		{"a weaker policy with a loss", "bob", ferries{policy: "refuse-loss", one: aAndB}, ferries{policy: "warn", one: onlyA}, []string{"{b: x}"}, lost},
		{"a stronger policy with a loss", "ann", ferries{policy: "refuse-loss", one: aAndB}, ferries{policy: "refuse-breaking", one: onlyA}, []string{"{b: x}"}, lost},
		{"an unknown policy", "bob", ferries{policy: "refuse-loss", one: aAndB}, ferries{policy: "refuse", one: aAndB}, nil, `Unsupported value: "refuse": supported values: "warn", "refuse-loss", "refuse-breaking"`},
		{"no policy", "bob", ferries{one: aAndB}, ferries{policy: `""`, one: aAndB}, nil, `Unsupported value: ""`},
	} {
		test.was.plural = fmt.Sprintf("ferries%02d", i)
		test.is.plural = test.was.plural
		server.stored(test.was, test.specs...)
		guarded.stored(test.was, test.specs...)
		warned, err := server.replace(test.user, test.is, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		// Our server warns about every weaker rule, also if it refuses the write.
		of := answerOf(err, slices.DeleteFunc(warned.texts, func(text string) bool { return strings.Contains(text, "so it forbids nothing from now on") }))
		reviewed := guarded.reviewed(test.user, yamltest.Object(t, test.is.text()), "")
		by := answerOf(nil, reviewed.Warnings)
		if !reviewed.Allowed {
			by = answerOf(&apierrors.StatusError{ErrStatus: *reviewed.Result}, nil)
		}
		if of != by || !strings.Contains(by, test.want) {
			t.Errorf("%s\nserver: %s\nguard: %s\nwant: %s", test.what, of, by, test.want)
		}
	}
}

// answerOf returns an error with its causes, "ok" for none, and warnings.
func answerOf(err error, warnings []string) string {
	answer := "ok"
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		answer = fmt.Sprintf("%+v", withoutType(status.Status()))
		if details := status.Status().Details; details != nil {
			answer += fmt.Sprintf(" %+v", *details)
		}
	} else if err != nil {
		answer = err.Error()
	}
	return answer + "\n" + strings.Join(warnings, "\n")
}

// TestGate checks which writes the API server asks about, in all forms of a write, and what the guard tells about a refusal.
func TestGate(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.create(definitions, strings.NewReplacer("PLURAL", "clusterreports", "GROUP", "openreports.io", "VERSION", "v1alpha1", "KIND",
		"ClusterReport").Replace(reportDefinition))
	f.gated()
	f.gateUsers()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.health+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	count := func() int {
		return countOf(t, request, `holdfast_guard_decisions_total{decision="refused",group="apiextensions.k8s.io",resource="customresourcedefinitions",webhook="gate"}`)
	}
	was := ferries{plural: "ferries", policy: "refuse-loss", one: aAndB}
	is := was
	is.one = onlyA
	f.stored(was, "{b: x}")
	// Later, the server changes the definition no more. A write during such a change would be judged twice, and counted twice.
	waittest.Until(t, "the server has judged the object", func() error {
		found, err := f.of(definitions).Get(t.Context(), was.name(), metav1.GetOptions{})
		if err != nil || !strings.Contains(fmt.Sprint(found.Object["status"]), "type:StoredObjectsValid") {
			return fmt.Errorf("%v, %w", found, err)
		}
		return nil
	})
	before := count()
	const spec = `{spec: {versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string}}}}}}}]}}`
	const operations = `[{op: remove, path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/b}]`
	apply := yamltest.Object(t, is.text())
	for form, send := range map[string]func(dryRun []string) error{
		"put": func(dryRun []string) error {
			_, err := f.replace("bob", is, metav1.UpdateOptions{DryRun: dryRun})
			return err
		},
		"a merge patch": func(dryRun []string) error {
			_, err := f.as("bob").of(definitions).Patch(t.Context(), is.name(), types.MergePatchType, yamltest.JSON(t, spec), metav1.PatchOptions{DryRun: dryRun})
			return err
		},
		"a JSON patch": func(dryRun []string) error {
			_, err := f.as("bob").of(definitions).Patch(t.Context(), is.name(), types.JSONPatchType, yamltest.JSON(t, operations), metav1.PatchOptions{DryRun: dryRun})
			return err
		},
		"an apply": func(dryRun []string) error {
			_, err := f.as("bob").of(definitions).Apply(t.Context(), is.name(), apply, metav1.ApplyOptions{FieldManager: "test", Force: true, DryRun: dryRun})
			return err
		},
	} {
		for _, dryRun := range [][]string{nil, {metav1.DryRunAll}} {
			const want = `admission webhook "gate.guard.holdfast.dev" denied the request: CustomResourceDefinition.apiextensions.k8s.io ` +
				`"ferries.gate.example.com" is invalid: spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[b]: the field is gone`
			if err := send(dryRun); !apierrors.IsInvalid(err) || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s, dry run %v: %v", form, dryRun, err)
			}
		}
	}
	f.wantCount("refusals", count()-before, 4) // without dry runs
	waittest.Until(t, "the Event", func() error {
		events, err := f.server.Client(t).CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + is.name()})
		if err != nil {
			return err
		}
		if len(events.Items) != 1 || events.Items[0].Count != 4 || events.Items[0].Reason != "Refused" || events.Items[0].Message != "refused an update of "+
			"customresourcedefinitions.apiextensions.k8s.io ferries.gate.example.com: spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[b]" {
			return fmt.Errorf("%+v", events.Items)
		}
		return nil
	})
	waittest.Until(t, "the report", func() error {
		const want = "fail ferries.gate.example.com refuse-loss: refused an update of customresourcedefinitions.apiextensions.k8s.io " +
			"ferries.gate.example.com CustomResourceDefinition/ferries.gate.example.com 4"
		if got, _ := f.reported("clusterreports.v1alpha1.openreports.io"); !slices.Contains(got, want) {
			return fmt.Errorf("%q, want %q", got, want)
		}
		return nil
	})
	f.gateIsAsked(was)
}

// gateIsAsked stops the guard and checks which writes need it.
func (f *fixture) gateIsAsked(d ferries) {
	f.Helper()
	free := ferries{plural: "free", policy: "warn", one: aAndB}
	f.stored(free, "{b: x}")
	none := ferries{plural: "none", one: aAndB}
	f.stored(none, "{b: x}")
	f.stop()
	const refused = "InternalError: "
	replace := func(next ferries) string {
		_, err := f.replace("bob", next, metav1.UpdateOptions{})
		return outcome(err)
	}
	with := func(d ferries, change func(*ferries)) ferries {
		change(&d)
		return d
	}
	status := func(name, patch string) string { return f.patch(definitions, name, patch, "status") }
	for _, test := range []struct{ what, got, want string }{
		{"another schema", replace(with(d, func(d *ferries) { d.one = onlyA })), refused},
		{"a weaker policy", replace(with(d, func(d *ferries) { d.policy = "warn" })), refused},
		{"no policy", f.patch(definitions, d.name(), `{metadata: {annotations: null}}`), refused},
		{"another rule", replace(with(d, func(d *ferries) { d.rules = "" })), "ok"},
		{"a label", f.patch(definitions, d.name(), `{metadata: {labels: {a: b}, annotations: {a: b}}}`), "ok"},
		{"nothing", f.patch(definitions, d.name(), `{}`), "ok"},
		{"another schema with warn", replace(with(free, func(d *ferries) { d.one = onlyA })), "ok"},
		{"another schema without a policy", replace(with(none, func(d *ferries) { d.one = onlyA })), "ok"},
		{"a new policy", replace(with(none, func(d *ferries) { d.one, d.policy = onlyA, "refuse-breaking" })), "ok"},
		{"a condition", status(d.name(), `{status: {acceptedNames: {plural: ferries, kind: Ferries}}}`), "ok"},
		{"another stored version", status(d.name(), `{status: {storedVersions: [v1, v0]}}`), refused},
	} {
		if !strings.HasPrefix(test.got, test.want) {
			f.Errorf("%s: %s, want %s", test.what, test.got, test.want)
		}
	}
	f.create(definitions, ferries{plural: "more", policy: "refuse-loss", one: onlyA}.text())
	if _, err := f.of(definitions).Create(f.Context(), yamltest.Object(f, ferries{plural: "wrong", policy: "never", one: onlyA}.text()),
		metav1.CreateOptions{}); err == nil {
		f.Error("an unknown policy is stored")
	}
}

// TestGateStatus checks that the guard refuses to take a version out of the stored versions while there are objects, unless Kubernetes has
// migrated them: a client of the API does not see in which version an object is stored.
func TestGateStatus(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.gated()
	f.gateUsers()
	const wanted = `status.storedVersions: version v1 is gone, and objects may be stored in it: the version could be removed from the definition, ` +
		`and the server could not read them: store them in another version first (1 stored object: default/f0); the policy refuse-loss`
	for plural, specs := range map[string][]string{"full": {"{a: x}"}, "empty": nil} {
		d := ferries{plural: plural, policy: "refuse-loss", one: aAndB, two: aAndB}
		f.stored(d, specs...)
		d.storage = "v2"
		if _, err := f.replace("bob", d, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		shortened, err := f.of(definitions).Get(t.Context(), d.name(), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		status, _ := shortened.Object["status"].(map[string]any)
		status["storedVersions"] = []any{"v2"}
		answer := f.reviewed("bob", shortened, "status")
		switch {
		case specs == nil && !answer.Allowed:
			t.Errorf("%s: %+v", plural, answer.Result)
		case specs != nil && (answer.Allowed || answer.Result.Code != http.StatusUnprocessableEntity || !strings.Contains(answer.Result.Message, wanted)):
			t.Errorf("%s: %+v", plural, answer)
		}
		conditions, _ := status["conditions"].([]any)
		for generation, allowed := range map[int64]bool{shortened.GetGeneration(): true, shortened.GetGeneration() - 1: specs == nil} {
			status["conditions"] = append(slices.Clone(conditions), map[string]any{
				"type": "StorageMigrating", "status": "False", "reason": "MigrationSucceeded", "observedGeneration": generation,
			})
			if answer := f.reviewed("bob", shortened, "status"); answer.Allowed != allowed {
				t.Errorf("%s, migrated in generation %d: %+v", plural, generation, answer)
			}
		}
	}
	// A write of the status can change metadata too.
	d := ferries{plural: "ruled", policy: "refuse-loss", rules: "immutable spec.a", one: aAndB}
	f.stored(d)
	for _, test := range []struct{ user, annotations, want string }{
		{"ann", `{holdfast.dev/definition-policy: warn}`, "would change from refuse-loss to warn, and the user may not loosen it"},
		{"bob", `{holdfast.dev/definition-policy: warn}`, "ok"},
		{"bob", `{holdfast.dev/definition-policy: never}`, `Unsupported value: "never"`},
		{"bob", `{holdfast.dev/immutability: null}`, "properties[a]: changed from immutable to free"},
		{"ann", `{a: b}`, "ok"},
	} {
		_, err := f.as(test.user).of(definitions).Patch(t.Context(), d.name(), types.MergePatchType,
			yamltest.JSON(t, `{metadata: {annotations: `+test.annotations+`}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "status")
		if got := fmt.Sprint(err); test.want == "ok" && err != nil || test.want != "ok" && !strings.Contains(got, test.want) {
			t.Errorf("%s, %s: %s", test.user, test.annotations, got)
		}
	}
	for _, versions := range []string{"[v1, v2, v0]", "[v1, v2]"} { // v0 was never stored
		if got := f.patch(definitions, "full.gate.example.com", `{status: {storedVersions: `+versions+`}}`, "status"); got != "ok" {
			t.Errorf("%s: %s", versions, got)
		}
	}
	got := f.patch(definitions, "full.gate.example.com", `{status: {storedVersions: [v2]}}`, "status")
	if !strings.Contains(got, "gate.guard.holdfast.dev") || !strings.Contains(got, wanted) {
		t.Error(got)
	}
}

// TestGateVersions checks in which versions the guard judges objects.
func TestGateVersions(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.gated()
	f.gateUsers()
	for name, test := range map[string]struct {
		was, is ferries
		want    string
	}{
		// The object was stored in v1, and then v2 became the storage version.
		"earlier": {ferries{one: aAndB, two: aAndB, storage: "v2"}, ferries{one: onlyA, two: aAndB, storage: "v2"}, "(1 stored object: default/f0)"},
		"hidden":  {ferries{one: aAndB, two: aAndB, hidden: "v1"}, ferries{one: onlyA, two: aAndB, hidden: "v1"}, "(1 stored object: default/f0)"},
		"other":   {ferries{one: aAndB, two: onlyA, hidden: "v1"}, ferries{one: onlyA, two: onlyA, hidden: "v1"}, "ok"}, // v2 does not show b
	} {
		first := ferries{plural: name, policy: "refuse-loss", one: aAndB, two: aAndB}
		test.was.plural, test.is.plural, test.was.policy, test.is.policy = name, name, "refuse-loss", "refuse-loss"
		f.stored(first, "{b: x}")
		if _, err := f.replace("bob", test.was, metav1.UpdateOptions{}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		answer := f.reviewed("bob", yamltest.Object(t, test.is.text()), "")
		got := "ok"
		if !answer.Allowed {
			got = answer.Result.Message
		}
		if !strings.Contains(got, test.want) || strings.Count(got, "(1 stored object") > 1 {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestGateLimits checks the answers if the guard may not list the objects, or cannot list them in time.
func TestGateLimits(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.account, f.edit = true, func(config *guard.Config) { config.AuditInterval = time.Second }
	f.create(definitions, strings.NewReplacer("PLURAL", "clusterreports", "GROUP", "openreports.io", "VERSION", "v1alpha1", "KIND",
		"ClusterReport").Replace(reportDefinition))
	f.run()
	d := ferries{plural: "ferries", policy: "refuse-loss", one: aAndB}
	f.stored(d, "{b: x}")
	d.one = onlyA
	f.awaitGate(d)
	dryRun := metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}
	_, err := f.replace(admin, d, dryRun)
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "the guard may not read ferries.gate.example.com: create a ClusterRole with "+
		"the right to list it and the label guard.holdfast.dev/aggregate-to-reader") {
		t.Error(err)
	}
	reported := func(want ...string) {
		t.Helper()
		waittest.Until(t, "the report", func() error {
			if got, _ := f.reported("clusterreports.v1alpha1.openreports.io"); !slices.Equal(got, want) {
				return fmt.Errorf("%q, want %q", got, want)
			}
			return nil
		})
	}
	const judged = "pass ferries.gate.example.com : judges changes of the definition"
	reported(judged, "skip ferries.gate.example.com : the guard may not list this resource: see guard.holdfast.dev/aggregate-to-reader")
	f.create("clusterroles.v1.rbac.authorization.k8s.io", `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: ferries, `+
		`labels: {guard.holdfast.dev/aggregate-to-reader: "true"}}, rules: [{apiGroups: [gate.example.com], resources: [ferries], verbs: [list]}]}`)
	waittest.Until(t, "the guard may list", func() error {
		if _, err := f.replace(admin, d, dryRun); !apierrors.IsInvalid(err) {
			return fmt.Errorf("not refused: %w", err)
		}
		return nil
	})
	reported(judged)
	late := start(t)
	late.edit = func(config *guard.Config) { config.ScanTimeout = time.Nanosecond }
	late.gated()
	late.stored(ferries{plural: "ferries", policy: "refuse-loss", one: aAndB}, "{b: x}")
	if _, err = late.replace(admin, d, dryRun); !apierrors.IsTimeout(err) || !strings.Contains(err.Error(),
		"ferries.gate.example.com: the stored objects could not all be read within 1ns: 0 objects read so far; the policy refuse-loss") {
		t.Error(err)
	}
}
