package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/render"
	"holdfast.dev/holdfast/internal/yamltest"
)

const pipePod = `
metadata: {name: mine, labels: {a: b}}
spec:
  volumes: [{name: out, emptyDir: {}}, {name: in, configMap: {name: c}}]
  initContainers: [{name: a, image: a, securityContext: {runAsUser: 7}, volumeMounts: [{name: out, mountPath: /out}]}]
`

var pipePlace = render.PipePlace{Instance: "my-Kafka", Plan: "deploy", Phase: "Main_1", Step: "s", Task: "t"}

func TestPipePod(t *testing.T) {
	tests := map[string]struct {
		change [2]string
		file   string
		want   string
	}{
		"valid":           {file: "/out/a/b.crt"},
		"container":       {change: [2]string{"spec:", "spec:\n  containers: [{name: b}]"}, want: "spec.containers: a pipe pod has none"},
		"policy":          {change: [2]string{"spec:", "spec:\n  restartPolicy: Always"}, want: "spec.restartPolicy"},
		"no volume":       {change: [2]string{"emptyDir", "hostPath"}, want: "exactly one of type emptyDir"},
		"not mounted":     {change: [2]string{"{name: out, mountPath", "{name: in, mountPath"}, want: "volume out is not among them"},
		"outside":         {file: "/etc/passwd", want: "not a path below /out, where the volume is mounted"},
		"dots":            {file: "/out/../etc/passwd", want: "not a path below /out"},
		"similar":         {file: "/outer/passwd", want: "not a path below /out"},
		"relative":        {file: "out/passwd", want: "not a path below /out"},
		"the folder":      {file: "/out", want: "not a path below /out"},
		"name":            {file: "/out/a b", want: "a name has letters"},
		"option":          {file: "/out/--checkpoint"},
		"no pod":          {change: [2]string{"spec:", "spec: 7\nx:"}, want: "pod: "},
		"init containers": {change: [2]string{"initContainers", "ephemeralContainers"}, want: "spec.initContainers: a pipe pod has exactly one"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			text := pipePod
			if test.change[0] != "" {
				text = strings.Replace(text, test.change[0], test.change[1], 1)
			}
			if test.file == "" {
				test.file = "/out/a"
			}
			pod, err := render.PipePod(text, pipePlace, []api.PipeSpec{{File: test.file, Kind: "Secret", Key: "k"}})
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if pod.GetName() != "mykafka.deploy.main1.s.t.pipepod" || pod.GetAnnotations()["kudo.dev/pipepod"] != "true" {
				t.Errorf("metadata %v", pod.Object["metadata"])
			}
			containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
			if got := fmt.Sprint(containers); !strings.Contains(got, "mountPath:/out") || !strings.Contains(got, "runAsUser:7") {
				t.Errorf("containers %s", got)
			}
		})
	}
}

func TestPipeArtifact(t *testing.T) {
	tests := map[string]struct {
		file    api.PipeSpec
		content string
		want    string
	}{
		"secret":     {api.PipeSpec{File: "/out/a", Kind: "Secret", Key: "A_b"}, "x\x00", "{data: {a: eAA=}, kind: Secret, type: Opaque}"},
		"config map": {api.PipeSpec{File: "/out/a", Kind: "ConfigMap", Key: "A_b"}, "x", "{binaryData: {a: eA==}, kind: ConfigMap}"},
		"environment": {
			api.PipeSpec{EnvFile: "/out/a", Kind: "ConfigMap", Key: "A_b"},
			"\ufeff# all\n\n A=b=c\nB=\n",
			`{data: {A: b=c, B: ""}, kind: ConfigMap}`,
		},
		"secret environment": {
			api.PipeSpec{EnvFile: "/out/a", Kind: "Secret", Key: "A_b"}, "A=x", "{data: {A: eA==}, kind: Secret, type: Opaque}",
		},
		"no environment": {api.PipeSpec{EnvFile: "/out/a", Kind: "Secret", Key: "A_b"}, "A=1\nsecret", "file /out/a: line 2: not of the form KEY=VALUE"},
		"a pod":          {api.PipeSpec{File: "/out/a", Kind: "Pod", Key: "A_b"}, "", `file /out/a: kind "Pod" is neither Secret nor ConfigMap`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object, err := render.PipeArtifact(pipePlace, test.file, []byte(test.content))
			if err != nil {
				if err.Error() != test.want {
					t.Errorf("got %v", err)
				}
				return
			}
			want := yamltest.Map(t, test.want)
			want["apiVersion"], want["metadata"] = "v1", map[string]any{"name": "mykafka.deploy.main1.s.t.ab"}
			if diff := cmp.Diff(want, object.Object); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUses(t *testing.T) {
	const spec = `
imagePullSecrets: [{name: pull}]
volumes:
- {name: a, configMap: {name: volume}}
- {name: b, secret: {secretName: key}}
- {name: c, projected: {sources: [{configMap: {name: part}}, {secret: {name: key}}, {serviceAccountToken: {path: t}}]}}
initContainers: [{name: i, envFrom: [{secretRef: {name: first}}, {configMapRef: {name: volume}}]}]
containers: [{name: m, env: [{name: A, valueFrom: {configMapKeyRef: {name: one, key: k}}}, {name: B, value: b},
  {name: C, valueFrom: {secretKeyRef: {name: two, key: k}}}, {name: D, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}]
`
	all := []render.Use{
		{Kind: "ConfigMap", Name: "one"},
		{Kind: "ConfigMap", Name: "part"},
		{Kind: "ConfigMap", Name: "volume"},
		{Kind: "Secret", Name: "first"},
		{Kind: "Secret", Name: "key"},
		{Kind: "Secret", Name: "pull"},
		{Kind: "Secret", Name: "two"},
	}
	pod := yamltest.Map(t, spec)
	template := map[string]any{"spec": pod}
	for kind, want := range map[string][]render.Use{
		"apps/v1 Deployment": all, "apps/v1 StatefulSet": all, "apps/v1 DaemonSet": all, "apps/v1 ReplicaSet": all,
		"v1 ReplicationController": all, "batch/v1 CronJob": all, "batch/v1 Job": nil, "v1 Pod": nil, "example.com/v1 Deployment": nil,
	} {
		version, name, _ := strings.Cut(kind, " ")
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": name, "spec": map[string]any{
			"template": template, "jobTemplate": map[string]any{"spec": map[string]any{"template": template}},
		}}}
		got, err := render.Uses(object)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", kind, err, diff)
		}
	}
	for _, same := range [][2]string{
		{"{kind: Secret, stringData: {a: b}}", "{kind: Secret, metadata: {labels: {a: b}}, data: {a: Yg==}, type: Opaque}"},
		{"{kind: ConfigMap, data: {a: b}}", "{kind: ConfigMap, metadata: {resourceVersion: '7'}, data: {a: b}}"},
	} {
		var contents [2]string
		for i, text := range same {
			object := yamltest.Object(t, text)
			content, err := render.Content(object)
			if err != nil {
				t.Fatal(err)
			}
			contents[i] = string(content)
		}
		if contents[0] != contents[1] || !strings.Contains(contents[0], "Yg==") {
			t.Errorf("%s and %s", contents[0], contents[1])
		}
	}
}
