package native_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/native"
)

// TestPrepare takes objects through the steps before validation. Package test/upstream compares
// generated objects with Kubernetes.
func TestPrepare(t *testing.T) {
	const slice = `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, `
	tests := map[string]struct{ old, object, want string }{
		"claim from a snapshot": {
			object: `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: s}}}`,
			want: `{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}, spec: {resources: {}, dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: s},
              dataSourceRef: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: s}}}`,
		},
		"claim with another source": {
			object: `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {dataSource: {kind: Pod, name: s}}}`,
			want:   `{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}, spec: {resources: {}}}`,
		},
		"claim with a source in another namespace": {
			object: `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {dataSourceRef: {apiGroup: a.com, kind: A, name: s, namespace: other}}}`,
			want:   `{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}, spec: {resources: {}}}`,
		},
		"new DaemonSet": {
			object: `{apiVersion: apps/v1, kind: DaemonSet, metadata: {annotations: {a: b}}, spec: {}}`,
			want: `{apiVersion: apps/v1, kind: DaemonSet, metadata: {annotations: {a: b, deprecated.daemonset.template.generation: "1"}},
              spec: {selector: null, template: {metadata: {}, spec: {containers: null}}, updateStrategy: {}},
              status: {currentNumberScheduled: 0, desiredNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0}}`,
		},
		"DaemonSet with another template": {
			old:    `{apiVersion: apps/v1, kind: DaemonSet, metadata: {annotations: {deprecated.daemonset.template.generation: "3"}}, spec: {}}`,
			object: `{apiVersion: apps/v1, kind: DaemonSet, spec: {template: {spec: {nodeName: a, containers: []}}}}`,
			want: `{apiVersion: apps/v1, kind: DaemonSet, metadata: {annotations: {deprecated.daemonset.template.generation: "4"}},
              spec: {selector: null, template: {metadata: {}, spec: {nodeName: a, containers: []}}, updateStrategy: {}},
              status: {currentNumberScheduled: 0, desiredNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0}}`,
		},
		"service account": {
			object: `{apiVersion: v1, kind: ServiceAccount, secrets: [{name: a, namespace: b, uid: c}]}`,
			want:   `{apiVersion: v1, kind: ServiceAccount, secrets: [{name: a}]}`,
		},
		"topology of endpoints": {
			old:    slice + `endpoints: [{addresses: [10.0.0.1], deprecatedTopology: {kubernetes.io/hostname: node}}]}`,
			object: slice + `endpoints: [{addresses: [10.0.0.2], deprecatedTopology: {kubernetes.io/hostname: node}}]}`,
			want:   slice + `ports: null, endpoints: [{addresses: [10.0.0.2], conditions: {}, nodeName: node}]}`,
		},
		"disabled fields of a Lease": {
			object: `{apiVersion: coordination.k8s.io/v1, kind: Lease, spec: {strategy: OldestEmulationVersion, preferredHolder: a}}`,
			want:   `{apiVersion: coordination.k8s.io/v1, kind: Lease, spec: {}}`,
		},
		"disabled fields of a Lease that are in use": {
			old:    `{apiVersion: coordination.k8s.io/v1, kind: Lease, spec: {strategy: OldestEmulationVersion}}`,
			object: `{apiVersion: coordination.k8s.io/v1, kind: Lease, spec: {strategy: OldestEmulationVersion, preferredHolder: a}}`,
			want:   `{apiVersion: coordination.k8s.io/v1, kind: Lease, spec: {strategy: OldestEmulationVersion}}`,
		},
	}
	kinds := map[string]native.Kind{}
	for _, kind := range native.Kinds() {
		kinds[kind.Name()] = kind
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			obj := decode(t, tt.object)
			kind := kinds[obj.GetObjectKind().GroupVersionKind().Kind]
			if tt.old == "" {
				native.DropDisabled(obj, nil)
				if kind.PrepareCreate != nil {
					kind.PrepareCreate(obj)
				}
			} else {
				old := decode(t, tt.old)
				native.DropDisabled(obj, old)
				if kind.PrepareUpdate != nil {
					kind.PrepareUpdate(obj, old)
				}
			}
			got, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			if err := yaml.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if want["metadata"] == nil {
				delete(got, "metadata")
			}
			if diff := cmp.Diff(texts(t, want), texts(t, got)); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
		})
	}
}

func texts(t *testing.T, object map[string]any) string {
	t.Helper()
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func decode(t *testing.T, text string) runtime.Object {
	t.Helper()
	json, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	obj, _, err := serializer.NewCodecFactory(native.NewSchemeWithoutDefaults()).UniversalDeserializer().Decode(json, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return obj
}
