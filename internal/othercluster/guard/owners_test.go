package guard_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

// ownedObject is an object that kubectl applied.
type ownedObject struct {
	// path is the path of its resource.
	path, name string
	// applied is the last-applied configuration, live the stored object.
	applied, live string
}

const (
	configMapPath  = "/api/v1/namespaces/default/configmaps"
	deploymentPath = "/apis/apps/v1/namespaces/default/deployments"
	widgetPath     = "/apis/example.com/v1/namespaces/default/widgets"
	scalerPath     = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
)

// ownedObjects returns the objects of TestOwnership.
func ownedObjects() map[string]ownedObject {
	const settings = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: "1", b: "1", c: "1", d: "1"}}`
	const web = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, paused: false, ` +
		`selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [` +
		`{name: web, image: nginx, resources: {limits: {cpu: 1000m}}}]}}}}`
	const widget = `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: small, replicas: 1}}`
	const scaler = `{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: h}, spec: {maxReplicas: 3, ` +
		`targetCPUUtilizationPercentage: 50, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`
	const secret = `{apiVersion: v1, kind: Secret, metadata: {name: keys}, stringData: {a: "1"}}`
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {team: red}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}}`
	return map[string]ownedObject{
		"config":  {configMapPath, "settings", settings, settings},
		"drifted": {configMapPath, "settings", settings, strings.Replace(settings, `a: "1"`, `a: "2"`, 1)},
		"plain":   {configMapPath, "settings", "", settings},
		"broken":  {configMapPath, "settings", "[]", settings},
		"ignored": {
			configMapPath, "settings", settings,
			strings.Replace(settings, "name: settings", "name: settings, annotations: {holdfast.dev/ownership: ignore}", 1),
		},
		"web":    {deploymentPath, "web", web, web},
		"widget": {widgetPath, "w", widget, widget},
		"scaler": {scalerPath, "h", scaler, scaler},
		"secret": {"/api/v1/namespaces/default/secrets", "keys", secret, secret},
		"pod":    {"/api/v1/namespaces/default/pods", "p", pod, pod},
	}
}

// create creates the object as kubectl apply does.
func (o ownedObject) create(t *testing.T, root rest.Interface) {
	t.Helper()
	live := yamltest.Map(t, o.live)
	if o.applied != "" {
		config := yamltest.JSON(t, o.applied)
		live = ownership.WithLastApplied(live, string(config))
	}
	err := root.Post().AbsPath(o.path).Param("fieldManager", "kubectl-client-side-apply").
		SetHeader("Content-Type", "application/json").Body(encode(t, live)).Do(t.Context()).Error()
	if err != nil {
		t.Fatal(err)
	}
}

// ownedWrite is a write to one of the objects.
type ownedWrite struct {
	object, manager string
	media           types.PatchType
	body            string
	// subresource is "", "/resize" or "/scale".
	subresource string
	// user is empty for an administrator.
	user string
}

// as returns the same write by another user.
func (w ownedWrite) as(user string) ownedWrite {
	w.user = user
	return w
}

// to returns a write with the same command.
func (w ownedWrite) to(object, body string) ownedWrite {
	w.object, w.body = object, body
	return w
}

// sendOwned creates the object, sends writes to it, and returns the warnings and the error of the last one.
func (f *fixture) sendOwned(writes ...ownedWrite) string {
	f.Helper()
	of := ownedObjects()[writes[0].object]
	root := f.server.Client(f.T).CoreV1().RESTClient()
	of.create(f.T, root)
	defer func() {
		if err := root.Delete().AbsPath(of.path, of.name).Do(f.Context()).Error(); err != nil {
			f.Error(err)
		}
	}()
	said := ""
	for _, w := range writes {
		servertest.AwaitCached(f.T, f.server.Client(f.T), of.path+"/"+of.name)
		said = f.sendWrite(of, w)
	}
	return said
}

func (f *fixture) sendWrite(of ownedObject, w ownedWrite) string {
	f.Helper()
	config := f.server.Config(f.T)
	if w.user != "" {
		config = f.server.As(f.T, w.user)
	}
	received := &recorder{}
	config.WarningHandler, config.UserAgent = received, "robot/1.0"
	body := yamltest.JSON(f, w.body)
	request := kubernetes.NewForConfigOrDie(config).CoreV1().RESTClient().Patch(w.media).AbsPath(of.path, of.name+w.subresource).Body(body)
	if w.manager != "" {
		request = request.Param("fieldManager", w.manager)
	}
	if w.media == types.ApplyPatchType {
		request = request.Param("force", "true")
	}
	lines := []string{"ok"}
	if err := request.Do(f.Context()).Error(); err != nil {
		lines[0] = strings.Replace(outcome(err), `admission webhook "`+guard.OwnershipWebhook+`" denied the request: `, "", 1)
	}
	return writtenAt.ReplaceAllString(strings.Join(append(lines, received.texts...), "\n"), "")
}

// writtenAt is the time of a write in a warning. The two servers of a test store an object at different times.
var writtenAt = regexp.MustCompile(` at [0-9-]+T[0-9:]+Z`)

// asked waits until the API server asks the guard about field ownership.
func (f *fixture) asked() {
	f.Helper()
	probe := ownedWrite{object: "config", manager: "kubectl-patch", media: types.MergePatchType, body: `{data: {a: "9"}}`}
	waittest.Until(f.T, "the guard is asked", func() bool { return f.sendOwned(probe) != "ok" })
}

// TestOwnership sends the same writes to our server, and to a server that judges no ownership, with a guard. The answers
// are the same.
func TestOwnership(t *testing.T) {
	t.Parallel()
	ours, guarded := startWith(t, apiserver.Config{}), start(t)
	guarded.run()
	for _, f := range []*fixture{ours, guarded} {
		f.create(definitions, widgetsDefinition)
		servertest.Grant(t, f.server.Client(t), rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "writer"},
			Rules: []rbacv1.PolicyRule{
				{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"patch"}},
				{APIGroups: []string{"apps"}, Resources: []string{"deployments/scale"}, Verbs: []string{"patch", "get"}},
			},
		})
	}
	guarded.asked()
	const merge, strategic, apply = types.MergePatchType, types.StrategicMergePatchType, types.ApplyPatchType
	const owner = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: "7"}}`
	const image = `{spec: {template: {spec: {containers: [{name: web, image: other}]}}}}`
	const larger = `{spec: {containers: [{name: c, resources: {requests: {cpu: "2"}}}]}}`
	const replacement = `{metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: null}}, data: {a: "3"}}`
	ci := ownedWrite{object: "plain", manager: "ci", media: apply, body: owner}
	patch := ownedWrite{object: "config", manager: "kubectl-patch", media: merge, body: `{data: {a: "3"}}`}
	edit := ownedWrite{object: "config", manager: "kubectl-edit", media: merge, body: `{data: {a: "3"}}`}
	scale := ownedWrite{object: "web", manager: "kubectl-scale", media: merge, subresource: "/scale", body: `{spec: {replicas: 3}}`}
	again := ownedWrite{object: "broken", manager: "m", media: merge, body: `{data: {a: "3"}}`}
	for _, f := range []*fixture{ours, guarded} {
		waittest.Until(t, "the writer has its rights", func() bool {
			return !strings.HasPrefix(f.sendOwned(patch.as("writer")), "Forbidden") &&
				!strings.HasPrefix(f.sendOwned(scale.as("writer")), "Forbidden")
		})
	}
	warned, replaced := 0, ""
	for name, writes := range map[string][]ownedWrite{
		"patch":                  {patch.to("config", `{data: {a: "3"}}`)},
		"patch of a free field":  {patch.to("config", `{data: {z: "3"}}`)},
		"patch that removes":     {patch.to("config", `{data: {a: null}}`)},
		"patch that repairs":     {patch.to("drifted", `{data: {a: "1"}}`)},
		"patch of many":          {{object: "config", manager: "kubectl-label", media: merge, body: `{data: {a: "3", b: "3", c: "3", d: "3"}}`}},
		"patch, never applied":   {patch.to("plain", `{data: {a: "3"}}`)},
		"patch, malformed":       {patch.to("broken", `{data: {a: "3"}}`)},
		"the second, malformed":  {again, {object: "broken", manager: "m", media: merge, body: `{data: {a: "4"}}`}},
		"patch, ignored":         {patch.to("ignored", `{data: {a: "3"}}`)},
		"a program":              {{object: "config", media: merge, body: `{data: {a: "3"}}`}},
		"edit":                   {edit.to("config", `{data: {a: "3"}}`)},
		"edit of many":           {edit.to("config", `{data: {a: "3", b: "3", c: null, d: "3"}}`)},
		"edit of a free field":   {edit.to("config", `{data: {z: "3"}}`)},
		"edit that repairs":      {edit.to("drifted", `{data: {a: "1"}}`)},
		"edit of a secret":       {edit.to("secret", `{data: {a: Mg==}}`)},
		"apply that reverts":     {{object: "drifted", manager: "kubectl-client-side-apply", media: merge, body: `{data: {a: "1"}}`}},
		"apply of a new field":   {{object: "config", manager: "kubectl-client-side-apply", media: merge, body: `{data: {z: "3"}}`}},
		"set image":              {{object: "web", manager: "kubectl-set", media: strategic, body: image}},
		"pause":                  {{object: "web", manager: "kubectl-rollout", media: strategic, body: `{spec: {paused: true}}`}},
		"replace":                {{object: "config", manager: "kubectl-replace", media: merge, body: replacement}},
		"resize":                 {{object: "pod", manager: "kubectl-patch", media: strategic, subresource: "/resize", body: larger}},
		"the status":             {{object: "pod", manager: "kubectl-patch", media: merge, subresource: "/status", body: `{metadata: {labels: {team: blue}}}`}},
		"scale":                  {scale},
		"scale, the same":        {scale.to("web", `{spec: {replicas: 2}}`)},
		"a custom resource":      {patch.to("widget", `{spec: {size: big}}`)},
		"its scale":              {scale.to("widget", `{spec: {replicas: 4}}`)},
		"another version":        {patch.to("scaler", `{spec: {targetCPUUtilizationPercentage: 60}}`)},
		"another version, free":  {patch.to("scaler", `{spec: {minReplicas: 2}}`)},
		"secret":                 {patch.to("secret", `{data: {a: Mg==}}`)},
		"forced apply":           {{object: "config", manager: "ci", media: apply, body: owner}},
		"apply again":            {ci, {object: "plain", manager: "ci", media: apply, body: strings.Replace(owner, "7", "8", 1)}},
		"patch after apply":      {ci, patch.to("plain", `{data: {a: "9"}}`)},
		"update of the applier":  {ci, {object: "plain", manager: "ci", media: merge, body: `{data: {a: "9"}}`}},
		"apply by another":       {ci, {object: "plain", manager: "cd", media: apply, body: strings.Replace(owner, "7", "8", 1)}},
		"edit after apply":       {ci, edit.to("plain", `{data: {a: "9"}}`)},
		"no right to get":        {patch.to("config", `{data: {a: "3"}}`).as("writer")},
		"edit, no right to get":  {edit.to("config", `{data: {a: "3"}}`).as("writer")},
		"malformed, no right":    {patch.to("broken", `{data: {a: "3"}}`).as("writer")},
		"scale, right to get it": {scale.as("writer")},
	} {
		want, got := ours.sendOwned(writes...), ""
		// An API server that gets no answer of the guard in time accepts the write without a warning.
		waittest.Until(t, "the guard answers in time: "+name, func() bool {
			got = guarded.sendOwned(writes...)
			return got != "ok" || want == "ok"
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-server +guard):\n%s", name, diff)
		}
		if want != "ok" {
			warned++
		}
		if name == "replace" {
			replaced = got
		}
	}
	if want := "ConfigMap/settings -n default is managed with kubectl apply; the replacement has no last-applied configuration"; !strings.Contains(replaced, want) {
		t.Errorf("kubectl replace: the guard says %q, want %q", replaced, want)
	}
	if warned < 20 {
		t.Errorf("only %d writes were warned about or refused", warned)
	}
	var forced string
	waittest.Until(t, "the guard answers in time: a forced edit", func() bool {
		forced = guarded.sendOwned(ownedWrite{object: "config", manager: "force", media: merge, body: `{data: {a: "3"}}`})
		return forced != "ok"
	})
	if !strings.HasPrefix(forced, "ok\n`kubectl edit` changed the resource ConfigMap/settings -n default field .data.a") {
		t.Errorf("a forced edit: %s", forced)
	}
	guarded.stop()
	if got := guarded.sendOwned(edit); got != "ok" {
		t.Errorf("without a guard: %s", got)
	}
}

// TestOwnershipCalls checks which writes cost a call. It is not parallel, because the metrics are those of the process.
func TestOwnershipCalls(t *testing.T) {
	f := start(t)
	f.run()
	const robot = "system:serviceaccount:default:robot"
	servertest.Grant(t, f.server.Client(t), rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: robot},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}},
	})
	f.asked()
	servertest.AwaitRight(t, f.server.Client(t), robot, authorizationv1.ResourceAttributes{
		Namespace: "default", Verb: "patch", Resource: "configmaps",
	})
	const configuration = `"` + ownership.LastApplied + `": "{}"`
	const applied = `annotations: {` + configuration + `}`
	const elected = `annotations: {control-plane.alpha.kubernetes.io/leader: "{}", ` + configuration + `}`
	const byApply = `managedFields: [{manager: ci, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:data": {}}}]`
	for name, test := range map[string]struct {
		path, object, manager, user string
		// patch is a label if it is empty.
		patch string
		want  int
	}{
		"applied":              {object: applied, manager: "kubectl-patch", want: 1},
		"by a program":         {object: applied, manager: "robot", want: 1},
		"not applied":          {object: `annotations: {a: b}`, manager: "kubectl-patch"},
		"a service account":    {object: applied, manager: "robot", user: robot},
		"kubectl in a pod":     {object: applied, manager: "kubectl-patch", user: robot, want: 1},
		"kube-system":          {path: "/api/v1/namespaces/kube-system/configmaps", object: applied, manager: "kubectl-patch"},
		"the guard's own":      {path: "/api/v1/namespaces/holdfast-guard/configmaps", object: applied, manager: "kubectl-patch"},
		"a lease":              {path: "/apis/coordination.k8s.io/v1/namespaces/default/leases", object: applied, manager: "kubectl-patch"},
		"a role":               {path: "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", object: applied, manager: "kubectl-patch"},
		"a node":               {path: "/api/v1/nodes", object: applied, manager: "kubectl-patch"},
		"a leader election":    {object: elected, manager: "kubectl-patch", patch: `{metadata: {annotations: {control-plane.alpha.kubernetes.io/leader: "1"}}}`},
		"a label of one":       {object: elected, manager: "kubectl-patch", want: 1},
		"the status, by apply": {object: strings.Replace(byApply, "Apply,", "Apply, subresource: status,", 1), manager: "kubectl-patch"},
		"by apply":             {object: byApply, manager: "kubectl-patch", want: 1},
	} {
		root := f.server.Client(t).CoreV1().RESTClient()
		path := test.path
		if path == "" {
			path = configMapPath
		}
		object := yamltest.Map(t, `{metadata: {name: o, `+test.object+`}}`)
		create := root.Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(encode(t, object))
		if err := create.Do(t.Context()).Error(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		servertest.AwaitCached(t, f.server.Client(t), path+"/o")
		patch := test.patch
		if patch == "" {
			patch = `{metadata: {labels: {a: b}}}`
		}
		before := f.calls()
		said := f.sendWrite(ownedObject{path: path, name: "o"}, ownedWrite{
			manager: test.manager, media: types.MergePatchType, body: patch, user: test.user,
		})
		if !strings.HasPrefix(said, "ok") {
			t.Errorf("%s: %s", name, said)
		}
		if got := f.calls() - before; got != test.want {
			t.Errorf("%s: %d calls, want %d", name, got, test.want)
		}
		if err := root.Delete().AbsPath(path, "o").Do(t.Context()).Error(); err != nil {
			t.Fatal(err)
		}
	}
}

// calls returns how often the guard was asked about field ownership.
func (f *fixture) calls() int {
	f.Helper()
	request, err := http.NewRequestWithContext(f.Context(), http.MethodGet, f.health+"/metrics", http.NoBody)
	if err != nil {
		f.Fatal(err)
	}
	return countOf(f.T, request, `holdfast_guard_decision_seconds_count{webhook="ownership"}`)
}
