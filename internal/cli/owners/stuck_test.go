package owners_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/owners"
	"holdfast.dev/holdfast/internal/yamltest"
)

// result is the result of a command.
type result struct {
	out, notes string
	err        error
	code       int
}

// run runs the command owners with arguments. flags are the flags of the connection.
func run(t testing.TB, flags *genericclioptions.ConfigFlags, args ...string) result {
	t.Helper()
	return execute(t, owners.NewCommand(cmdutil.NewFactory(flags)), args)
}

func execute(t testing.TB, cmd *cobra.Command, args []string) result {
	t.Helper()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	var out, notes bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&notes)
	cmd.SetArgs(args)
	r := result{err: cmd.ExecuteContext(t.Context())}
	r.out, r.notes = out.String(), notes.String()
	r.code = command.Code(cmd, r.err)
	return r
}

func connection(kubeconfig string) *genericclioptions.ConfigFlags {
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig = &kubeconfig
	return flags
}

// migrated creates an object with client-side apply and applies a part of it on the server.
func migrated(t testing.TB, client dynamic.ResourceInterface, object, part string) {
	t.Helper()
	created := yamltest.Object(t, object)
	if _, err := client.Create(t.Context(), created, metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"}); err != nil {
		t.Fatal(err)
	}
	applied := yamltest.Object(t, part)
	if _, err := client.Apply(t.Context(), applied.GetName(), applied, metav1.ApplyOptions{FieldManager: "kustomize-controller", Force: true}); err != nil {
		t.Fatal(err)
	}
}

func TestStuck(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	client := dynamic.NewForConfigOrDie(server.Config(t))
	core := func(resource string) dynamic.ResourceInterface {
		return client.Resource(schema.GroupVersionResource{Version: "v1", Resource: resource}).Namespace("default")
	}
	admin := connection(server.Kubeconfig())
	clean := run(t, admin, "--stuck", "configmaps,secrets")
	if clean.code != 0 || !regexp.MustCompile(`^0 stuck fields in 0 objects; examined \d+ objects? of 2 kinds\n$`).MatchString(clean.out) {
		t.Errorf("without stuck fields: code %d, %v, %s", clean.code, clean.err, clean.out)
	}

	// More objects than a page has.
	for i := range 260 {
		migrated(t, core("configmaps"),
			fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: c%03d, labels: {app: many}}, data: {a: "1", b: "2"}}`, i),
			fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: c%03d, labels: {app: many}}, data: {a: "1"}}`, i))
	}
	migrated(t, core("secrets"), `{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {password: hunter2}}`,
		`{apiVersion: v1, kind: Secret, metadata: {name: s, labels: {a: b}}}`)
	busy := yamltest.Object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: busy}}`)
	for i := range 9 {
		busy.Object["data"] = map[string]any{fmt.Sprint(i): "x"}
		if i == 0 {
			if _, err := core("configmaps").Create(t.Context(), busy, metav1.CreateOptions{FieldManager: "m0"}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if _, err := core("configmaps").Patch(t.Context(), "busy", "application/merge-patch+json",
			fmt.Appendf(nil, `{"data":{"%d":"x"}}`, i), metav1.PatchOptions{FieldManager: fmt.Sprintf("m%d", i)}); err != nil {
			t.Fatal(err)
		}
	}

	got := run(t, admin, "--stuck", "cm", "secrets")
	want := `MANAGER                             KIND       FIELD                WHY                                 COUNT  OBJECTS
kubectl-client-side-apply (Update)  ConfigMap  .data.a              co-owned with kustomize-controller  260    default/c000, default/c001, default/c002 and 257 more
kubectl-client-side-apply (Update)  ConfigMap  .data.b              left behind                         260    default/c000, default/c001, default/c002 and 257 more
kubectl-client-side-apply (Update)  ConfigMap  .metadata.labels.app co-owned with kustomize-controller  260    default/c000, default/c001, default/c002 and 257 more
kubectl-client-side-apply (Update)  Secret     .data.password       left behind                         1      default/s

OBJECT                  MANAGERS OF UPDATES
ConfigMap default/busy  9 of 10

781 stuck fields in 261 objects; examined N objects of 2 kinds
`
	spaces := regexp.MustCompile(` +`)
	words := func(text string) string {
		return spaces.ReplaceAllString(regexp.MustCompile(`examined \d+`).ReplaceAllString(text, "examined N"), " ")
	}
	if diff := cmp.Diff(words(want), words(got.out)); diff != "" || got.code != 1 || got.notes != "" {
		t.Errorf("code %d, %v, notes %q (-want +got):\n%s", got.code, got.err, got.notes, diff)
	}
	if strings.Contains(got.out, "hunter2") || strings.Contains(got.out, "aHVudGVyMg") {
		t.Error("the output has the value of a Secret")
	}
	if all := run(t, admin, "--stuck", "cm", "--all-objects", "-l", "app=many"); !strings.Contains(all.out, ", default/c259\n") || strings.Contains(all.out, "busy") {
		t.Errorf("with --all-objects and -l: %.400s", all.out)
	}

	structured := run(t, admin, "--stuck", "-A", "-o", "json")
	var report struct {
		Examined struct{ Kinds, Objects int }
		Fields   []struct {
			Manager, Operation, Kind, Field, Reason, Applier string
			Count                                            int
			Objects                                          []string
		}
		Limits []struct {
			Object         string
			Updates, Limit int
		}
	}
	if err := json.Unmarshal([]byte(structured.out), &report); err != nil || structured.code != 1 {
		t.Fatalf("code %d, %v: %.400s", structured.code, err, structured.out)
	}
	if len(report.Fields) != 4 || report.Fields[0].Count != 260 || len(report.Fields[0].Objects) != 260 || report.Examined.Kinds < 30 {
		t.Errorf("-A -o json: %d fields of %d kinds, first %.300v", len(report.Fields), report.Examined.Kinds, report.Fields)
	}
	if len(report.Limits) != 1 || report.Limits[0].Object != "ConfigMap default/busy" || report.Limits[0].Updates != 9 {
		t.Errorf("limits: %v", report.Limits)
	}
}

// TestStuckOfUser runs the command as a user that may list some kinds.
func TestStuckOfUser(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	servertest.Grant(t, server.Client(t), rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "reader", Namespace: "default"},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"configmaps"}}},
	})
	reader := connection(server.Kubeconfig())
	user := "reader"
	reader.Impersonate = &user
	if _, err := server.Client(t).CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "c"}, Data: map[string]string{"a": "1"},
	}, metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"}); err != nil {
		t.Fatal(err)
	}
	servertest.AwaitRight(t, server.Client(t), user, authorizationv1.ResourceAttributes{Namespace: "default", Verb: "list", Resource: "configmaps"})
	got := run(t, reader, "--stuck")
	if got.code != 1 || !strings.Contains(got.out, "not applied") || !strings.Contains(got.out, "of 1 kind\n") {
		t.Errorf("code %d, %v: %s", got.code, got.err, got.out)
	}
	if !strings.Contains(got.notes, `note: skipped secrets: secrets is forbidden: User "reader" cannot list resource "secrets"`) {
		t.Errorf("notes: %s", got.notes)
	}
	if named := run(t, reader, "--stuck", "secrets"); named.code != 2 || !strings.Contains(named.err.Error(), "list secrets: secrets is forbidden") {
		t.Errorf("a kind that the user may not list: code %d, %v", named.code, named.err)
	}
}

func TestStuckCommandLine(t *testing.T) {
	t.Parallel()
	servertest.Quiet()
	kubeconfig := t.TempDir() + "/none"
	for args, want := range map[string]string{
		"-A":                      "-A, -l, --gone and --all-objects are for --stuck",
		"--stuck --drift":         "--drift and --stuck show different things: use one of them",
		"--stuck -f x.yaml":       "--stuck reads the objects of the server, not those of files",
		"--stuck deployments/web": `"deployments/web": --stuck takes types, such as deployments, and not single objects`,
		"--stuck -l a=(":          `selector "a=(": `,
		"--stuck -o table":        `output "table": must be json or yaml`,
		"--stuck --bogus":         "unknown flag: --bogus",
	} {
		got := run(t, connection(kubeconfig), strings.Fields(args)...)
		if got.code != 2 || got.err == nil || !strings.Contains(got.err.Error(), want) {
			t.Errorf("%s: code %d, error %v, want %q", args, got.code, got.err, want)
		}
	}
	flags, address := genericclioptions.NewConfigFlags(true), "http://127.0.0.1:1"
	flags.APIServer = &address
	if got := run(t, flags, "--stuck"); got.code != 2 || got.err == nil {
		t.Errorf("without a server: code %d, error %v", got.code, got.err)
	}
}

// TestStuckNotExamined has an object with an entry in another version of the API, and with two managers of server-side apply. owners
// counts the entry and hints at --gone, and transfer says which fields stay.
func TestStuckNotExamined(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	client := dynamic.NewForConfigOrDie(server.Config(t))
	scalers := func(version string) dynamic.ResourceInterface {
		return client.Resource(schema.GroupVersionResource{Group: "autoscaling", Version: version, Resource: "horizontalpodautoscalers"}).Namespace("default")
	}
	const target = `scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}`
	if _, err := scalers("v1").Create(t.Context(), yamltest.Object(t, `{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: h}, `+
		`spec: {maxReplicas: 3, targetCPUUtilizationPercentage: 50, `+target+`}}`), metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"}); err != nil {
		t.Fatal(err)
	}
	for _, manager := range []string{"ci", "deployer"} {
		if _, err := scalers("v2").Apply(t.Context(), "h", yamltest.Object(t, `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}, `+
			`spec: {maxReplicas: 3, `+target+`}}`), metav1.ApplyOptions{FieldManager: manager}); err != nil {
			t.Fatal(err)
		}
	}
	admin := connection(server.Kubeconfig())
	got := run(t, admin, "--stuck", "horizontalpodautoscalers")
	for _, want := range []string{
		"kubectl-client-side-apply (Update)  HorizontalPodAutoscaler.autoscaling  other version: autoscaling/v1  1      default/h\n",
		"\n1 object has several managers of server-side apply, ci, deployer: if one of them no longer applies, name it with --gone\n",
		"\n0 stuck fields in 0 objects; examined 1 object of 1 kind; not examined: other version, in 1 case\n",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in:\n%s", want, got.out)
		}
	}
	if got.code != 1 {
		t.Errorf("code %d, %v", got.code, got.err)
	}
	structured := run(t, admin, "--stuck", "horizontalpodautoscalers", "-o", "json")
	var report struct {
		NotExamined []struct {
			Manager, Operation, Kind, Version string
			Objects                           []string
		}
		Appliers []struct {
			Managers []string
			Count    int
		}
	}
	if err := json.Unmarshal([]byte(structured.out), &report); err != nil || len(report.NotExamined) != 1 || len(report.Appliers) != 1 ||
		report.NotExamined[0].Version != "autoscaling/v1" || report.Appliers[0].Count != 1 {
		t.Errorf("-o json: %v, %+v", err, report)
	}
	moved := transfer(t, admin, "horizontalpodautoscalers", "--from", "kubectl-client-side-apply", "--to", "ci", "--dry-run=client")
	const note = "note: horizontalpodautoscalers.autoscaling/h -n default: 1 field of kubectl-client-side-apply (Update) not moved: other version: " +
		"the entry is in autoscaling/v1, and the object has no such field in autoscaling/v2: .spec.targetCPUUtilizationPercentage\n"
	if !strings.Contains(moved.notes, note) || !strings.HasSuffix(moved.out, "of 1 object; 1 field not moved: other version (dry run)\n") {
		t.Errorf("transfer: %q, notes %q", moved.out, moved.notes)
	}
}

// TestStuckUnavailable examines all kinds while one API does not answer. The report says so, and the command fails.
func TestStuckUnavailable(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	flags := through(server.Kubeconfig(), func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		switch r.URL.Path {
		case "/api", "/apis":
			// Without the answer for all APIs together, the command asks for each.
			r = r.Clone(r.Context())
			r.Header.Set("Accept", "application/json")
		case "/apis/autoscaling/v2":
			return &http.Response{
				Status: "503 Service Unavailable", StatusCode: http.StatusServiceUnavailable, Header: http.Header{},
				Body: io.NopCloser(strings.NewReader("not ready")), Request: r,
			}, nil
		}
		return next.RoundTrip(r)
	})
	cache := t.TempDir()
	flags.CacheDir = &cache
	got := run(t, flags, "--stuck", "-o", "json")
	var report struct{ Unavailable string }
	if err := json.Unmarshal([]byte(got.out), &report); err != nil || got.code != 2 || !strings.Contains(report.Unavailable, "autoscaling/v2") {
		t.Errorf("code %d, %v, %v, unavailable %q", got.code, got.err, err, report.Unavailable)
	}
	if got.err == nil || !strings.HasPrefix(got.err.Error(), "not all APIs answer: ") {
		t.Errorf("error %v", got.err)
	}
}
