package kudo_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/apiserver"
	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/cli"
	"holdfast.dev/holdfast/operator/api"
)

// world is a namespace of a server that serves the kinds.
type world struct {
	server                *servertest.Server
	kubeconfig, namespace string
	client                kubernetes.Interface
	dynamic               dynamic.Interface
}

// start starts a server.
func start(t *testing.T) world {
	t.Helper()
	server := servertest.Start(t, apiserver.Config{})
	return world{server: server, kubeconfig: server.Kubeconfig(), namespace: metav1.NamespaceDefault, client: server.Client(t), dynamic: dynamic.NewForConfigOrDie(server.Config(t))}
}

// enter makes a namespace of the world.
func (w world) enter(t *testing.T, namespace string) world {
	t.Helper()
	_, err := w.client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.namespace = namespace
	return w
}

func (w world) resource(resource string) dynamic.ResourceInterface {
	return w.dynamic.Resource(api.GroupVersion.WithResource(resource)).Namespace(w.namespace)
}

// kudo runs a command, and gives what it prints.
func (w world) kudo(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	err := w.run(ctx, &out, args...)
	return out.String(), err
}

// run runs a command that prints to out.
func (w world) run(ctx context.Context, out io.Writer, args ...string) error {
	args = append([]string{"kudo"}, append(args, "--kubeconfig", w.kubeconfig, "--namespace", w.namespace)...)
	return cli.Run(ctx, cli.Streams{In: strings.NewReader(""), Out: out, Err: out}, args)
}

// offline runs a command that has nothing to do with a server, and gives what it
// prints.
func offline(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if err := cli.Run(t.Context(), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}, append([]string{"kudo"}, args...)); err != nil {
		t.Fatalf("kudo %s: %v\n%s", strings.Join(args, " "), err, out.String())
	}
	return strings.TrimSpace(out.String())
}

// must runs a command that succeeds, when no plan runs.
func (w world) must(t *testing.T, args ...string) string {
	t.Helper()
	w.settle(t)
	out, err := w.kudo(t.Context(), args...)
	if err != nil {
		t.Fatalf("kudo %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// fails runs a command that fails with an error.
func (w world) fails(t *testing.T, want string, args ...string) string {
	t.Helper()
	w.settle(t)
	out, err := w.kudo(t.Context(), args...)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("kudo %s: %v\nwant %s", strings.Join(args, " "), err, want)
	}
	return out
}

// settle waits for plans to end.
func (w world) settle(t *testing.T) {
	t.Helper()
	servertest.Eventually(t, "no plan runs", func() bool {
		list, err := w.resource("instances").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			if typed(t, &list.Items[i]).RunningPlan() != "" {
				return false
			}
		}
		return true
	})
}

func (w world) instance(t *testing.T, name string) *api.Instance {
	t.Helper()
	object, err := w.resource("instances").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return typed(t, object)
}

func typed(t *testing.T, object *unstructured.Unstructured) *api.Instance {
	t.Helper()
	instance := &api.Instance{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, instance); err != nil {
		t.Fatal(err)
	}
	return instance
}

func (w world) patch(ctx context.Context, name, patch string, subresources ...string) error {
	_, err := w.resource("instances").Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	return err
}

// names are those of all objects of a resource.
func (w world) names(t *testing.T, resource string) string {
	t.Helper()
	list, err := w.resource(resource).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].GetName())
	}
	return strings.Join(names, " ")
}

// folder writes files and gives their folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// tok writes a version of a package and gives its folder.
func tok(t *testing.T, version, params string) string {
	t.Helper()
	return folder(t, map[string]string{
		"operator.yaml": strings.ReplaceAll(`
apiVersion: kudo.dev/v1beta1
name: tok
operatorVersion: VERSION
appVersion: "1.0"
tasks:
- {name: app, kind: Apply, spec: {resources: [config.yaml]}}
- {name: fail, kind: Dummy, spec: {wantErr: true, fatal: true}}
plans:
  deploy:
    phases:
    - name: app
      steps:
      - {name: config, tasks: [app]}
  backup:
    phases:
    - name: save
      steps:
      - {name: copy, tasks: [app]}
  break:
    phases:
    - name: save
      steps:
      - {name: copy, tasks: [fail]}
`, "VERSION", version),
		"params.yaml": "apiVersion: kudo.dev/v1beta1\nparameters:\n" + params,
		"templates/config.yaml": `
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Name }}"}
data: {{ .Params | toYaml | nindent 2 }}
---
apiVersion: v1
kind: Secret
metadata: {name: "{{ .Name }}"}
stringData: {token: "hush-{{ .OperatorVersion }}"}
`,
	})
}

// The parameters of two versions between which every row of the rules occurs.
const (
	first = `
- {name: SIZE, type: integer, default: 3}
- {name: REALM, immutable: true}
- {name: ZONE, immutable: true, default: eu}
- {name: LATER, default: x}
- {name: FREE, immutable: true, default: f}
- {name: GONE, immutable: true, default: g}
`
	second = `
- {name: SIZE, type: integer, default: 5}
- {name: REALM, immutable: true}
- {name: ZONE, immutable: true, default: us}
- {name: LATER, immutable: true, default: x}
- {name: FREE, default: other}
- {name: NEW, immutable: true, default: D}
- {name: BARE, immutable: true}
`
)
