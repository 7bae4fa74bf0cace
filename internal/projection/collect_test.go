package projection_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/projection"
	"holdfast.dev/holdfast/internal/yamltest"
)

const collectPod = `
metadata: {name: web, namespace: shop, uid: u-1, labels: {app: web, tier: "a\"b"}, annotations: {note: hello}}
spec:
  serviceAccountName: robot
  containers:
  - name: main
    resources: {limits: {cpu: 1500m}, requests: {memory: 100Mi}}
`

// objects are the objects that exist.
var objects = map[projection.Reference]map[string][]byte{
	{Kind: projection.ConfigMap, Name: "app"}:   {"a.conf": []byte("a"), "b.conf": []byte("b")},
	{Kind: projection.ConfigMap, Name: "other"}: {"a.conf": []byte("other")},
	{Kind: projection.ConfigMap, Name: "empty"}: {},
	{Kind: projection.ConfigMap, Name: "bad"}:   {"..data": []byte("x")},
	{Kind: projection.Secret, Name: "key"}:      {"password": []byte("hunter2")},
}

func TestCollect(t *testing.T) {
	tests := map[string]struct {
		volume string
		// want lists the files as "path mode content".
		want    []string
		wantErr string
	}{
		"config map":      {volume: `configMap: {name: app}`, want: []string{"a.conf 0644 a", "b.conf 0644 b"}},
		"default mode":    {volume: `configMap: {name: app, defaultMode: 0400}`, want: []string{"a.conf 0400 a", "b.conf 0400 b"}},
		"items":           {volume: `configMap: {name: app, items: [{key: a.conf, path: etc/x}]}`, want: []string{"etc/x 0644 a"}},
		"mode of an item": {volume: `configMap: {name: app, items: [{key: a.conf, path: x, mode: 0600}]}`, want: []string{"x 0600 a"}},
		"one key, two paths": {
			volume: `configMap: {name: app, items: [{key: a.conf, path: x}, {key: a.conf, path: yy}]}`,
			want:   []string{"x 0644 a", "yy 0644 a"},
		},
		"empty":               {volume: `configMap: {name: empty}`},
		"not found":           {volume: `configMap: {name: gone}`, wantErr: "configmap shop/gone not found"},
		"not found, optional": {volume: `configMap: {name: gone, optional: true}`},
		"key not found": {
			volume:  `configMap: {name: app, items: [{key: z, path: z}, {key: yy, path: yy}]}`,
			wantErr: "configmap shop/app: key z not found; configmap shop/app: key yy not found",
		},
		"key not found, optional": {
			volume: `configMap: {name: app, optional: true, items: [{key: z, path: z}, {key: a.conf, path: x}]}`,
			want:   []string{"x 0644 a"},
		},
		"secret":           {volume: `secret: {secretName: key}`, want: []string{"password 0644 hunter2"}},
		"secret not found": {volume: `secret: {secretName: gone}`, wantErr: "secret shop/gone not found"},
		"paths that are not clean": {
			volume: `configMap: {name: app, items: [{key: a.conf, path: ./x}, {key: b.conf, path: d//./e/}]}`,
			want:   []string{"d/e 0644 b", "x 0644 a"},
		},
		"path outside of the volume": {
			volume:  `configMap: {name: app, items: [{key: a.conf, path: ../x}]}`,
			wantErr: `path "../x": must not contain ".."`,
		},
		"path that leaves the volume in the middle": {
			volume:  `configMap: {name: app, items: [{key: a.conf, path: x/../../y}]}`,
			wantErr: `path "x/../../y": must not contain ".."`,
		},
		"absolute path": {
			volume:  `configMap: {name: app, items: [{key: a.conf, path: /etc/x}]}`,
			wantErr: `path "/etc/x": must be relative`,
		},
		"key with a name of the layout": {volume: `configMap: {name: bad}`, wantErr: `path "..data": must not start with ".."`},
		"file and directory": {
			volume:  `configMap: {name: app, items: [{key: a.conf, path: x}, {key: b.conf, path: x/y}]}`,
			wantErr: `path "x/y": "x" is a file`,
		},
		"later source wins": {
			volume: `projected: {sources: [{configMap: {name: app}}, {configMap: {name: other}}]}`,
			want:   []string{"a.conf 0644 other", "b.conf 0644 b"},
		},
		"later source wins, other order": {
			volume: `projected: {sources: [{configMap: {name: other}}, {configMap: {name: app}}]}`,
			want:   []string{"a.conf 0644 a", "b.conf 0644 b"},
		},
		"projected volume with all kinds of sources": {
			volume: `projected: {defaultMode: 0440, sources: [{secret: {name: key}}, ` +
				`{serviceAccountToken: {path: token}}, {downwardAPI: {items: [{path: ns, ` +
				`fieldRef: {fieldPath: metadata.namespace}}]}}]}`,
			want: []string{"ns 0440 shop", "password 0440 hunter2", "token 0440 t0ken"},
		},
		"everything missing is listed": {
			volume: `projected: {sources: [{secret: {name: gone}}, {configMap: {name: app, items: [{key: z, path: z}]}}, ` +
				`{serviceAccountToken: {path: late}}]}`,
			wantErr: "secret shop/gone not found; configmap shop/app: key z not found; token for late of service account shop/robot not issued",
		},
		"unsupported source": {
			volume:  `projected: {sources: [{podCertificate: {keyType: ED25519}}]}`,
			wantErr: "this agent does not provide projected sources of type podCertificate",
		},
		"downward fields": {
			volume: `downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}, ` +
				`{path: uid, fieldRef: {fieldPath: metadata.uid}}, {path: labels, fieldRef: {fieldPath: metadata.labels}}, ` +
				`{path: one, fieldRef: {fieldPath: "metadata.labels['app']"}}, ` +
				`{path: note, fieldRef: {fieldPath: "metadata.annotations['note']"}, mode: 0600}, ` +
				`{path: none, fieldRef: {fieldPath: "metadata.labels['none']"}}]}`,
			want: []string{
				`labels 0644 app="web"` + "\n" + `tier="a\"b"`, "name 0644 web", "none 0644 ", "note 0600 hello",
				"one 0644 web", "uid 0644 u-1",
			},
		},
		"downward resources": {
			volume: `downwardAPI: {items: [{path: cpu, resourceFieldRef: {containerName: main, resource: limits.cpu}}, ` +
				`{path: milli, resourceFieldRef: {containerName: main, resource: limits.cpu, divisor: 1m}}, ` +
				`{path: memory, resourceFieldRef: {containerName: main, resource: requests.memory, divisor: 1Mi}}, ` +
				`{path: host, resourceFieldRef: {containerName: main, resource: limits.memory}}]}`,
			want: []string{"cpu 0644 2", "host 0644 4096", "memory 0644 100", "milli 0644 1500"},
		},
		"invalid downward items": {
			volume: `downwardAPI: {items: [{path: a, fieldRef: {fieldPath: spec.nodeName}}, ` +
				`{path: b, resourceFieldRef: {containerName: gone, resource: limits.cpu}}, {path: c}, ` +
				`{path: d, resourceFieldRef: {containerName: main, resource: limits.fish}}]}`,
			wantErr: "downward API file \"a\": fieldPath \"spec.nodeName\": not supported in volumes\n" +
				"downward API file \"b\": container \"gone\" not found\n" +
				"downward API file \"c\": neither fieldRef nor resourceFieldRef is set\n" +
				"downward API file \"d\": resource \"limits.fish\": not supported in volumes",
		},
	}
	pod := *yamltest.Decode[corev1.Pod](t, collectPod)
	sources := projection.Sources{
		Objects: objects, Tokens: map[string]string{"token": "t0ken"},
		Allocatable: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("4Ki")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			volume := *yamltest.Decode[corev1.Volume](t, test.volume)
			payload, err := projection.Collect(&pod, &volume, sources)
			gotErr := ""
			if err != nil {
				gotErr = err.Error()
			}
			if gotErr != test.wantErr {
				t.Fatalf("error\n%s\nwant\n%s", gotErr, test.wantErr)
			}
			if err != nil {
				return
			}
			var got []string
			for _, file := range slices.Sorted(maps.Keys(payload)) {
				got = append(got, fmt.Sprintf("%s %04o %s", file, payload[file].Mode, payload[file].Data))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReferences(t *testing.T) {
	var volume corev1.Volume
	document := `projected: {sources: [{secret: {name: key}}, {configMap: {name: app}}, ` +
		`{serviceAccountToken: {path: token}}, {configMap: {name: app}}]}`
	if err := yaml.Unmarshal([]byte(document), &volume); err != nil {
		t.Fatal(err)
	}
	want := []projection.Reference{{Kind: projection.Secret, Name: "key"}, {Kind: projection.ConfigMap, Name: "app"}}
	if diff := cmp.Diff(want, projection.References(&volume)); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
	if tokens := projection.Tokens(&volume); len(tokens) != 1 || tokens[0].Path != "token" {
		t.Errorf("tokens %v", tokens)
	}
}

func TestCheckPath(t *testing.T) {
	tests := map[string]bool{
		"a": true, "a/b": true, "..a/b": false, "a/..b": true, ".hidden": true, "a b": true, "ä": true,
		"": false, "/a": false, "..": false, "a/..": false, "../a": false, "./a": false,
		"a//b": false, "a/": false, ".": false, "a/./b": false, "a\x00b": false,
		strings.Repeat("a", 255): true, strings.Repeat("a", 256): false, strings.Repeat("a/", 2048) + "a": false,
	}
	for file, want := range tests {
		if err := projection.CheckPath(file); (err == nil) != want {
			t.Errorf("%.40q: %v", file, err)
		}
	}
}
