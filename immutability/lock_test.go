package immutability_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/yamltest"
)

// lockLines returns the text of each lock: its path, its marker, "absent" if there is no value,
// and its exception.
func lockLines(locks []immutability.Lock) []string {
	var all []string
	for _, lock := range locks {
		text := lock.Path.String() + ": " + lock.Marker.String()
		if lock.Absent {
			text += ", absent"
		}
		if lock.Exception != "" {
			text += ", except: " + lock.Exception
		}
		all = append(all, text)
	}
	return all
}

func TestLocks(t *testing.T) {
	t.Parallel()
	const marked = `
type: object
properties:
  spec:
    type: object
    properties:
      size: {type: string, x-kubernetes-immutable: true}
      zone: {type: string, x-kubernetes-immutable: true}
      free: {type: string}
      labels: {type: object, additionalProperties: {type: string}, x-kubernetes-immutable-keys: true}
      only: {type: object, additionalProperties: {type: string}, x-kubernetes-addition-only: true}
      values: {type: object, additionalProperties: {type: object, properties: {a: {type: integer, x-kubernetes-immutable: true}}}}
      ports:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        x-kubernetes-deletion-only: true
        items: {type: object, properties: {name: {type: string}, port: {type: integer, x-kubernetes-immutable: true}}}
  other:
    type: object
    properties: {deep: {type: string, x-kubernetes-immutable: true}}
`
	for name, test := range map[string]struct {
		object string
		want   []string
	}{
		"values": {
			"{kind: A, spec: {size: 1, free: x, labels: {a: b}, only: {c: d}, values: {v: {a: 1}}, ports: [{name: http, port: 80}]}}",
			[]string{
				"spec.labels: immutable keys", "spec.only: addition only", "spec.ports: deletion only",
				`spec.ports[name="http"].port: immutable`, "spec.size: immutable", "spec.values.v.a: immutable",
				"spec.zone: immutable, absent",
			},
		},
		// A parent that is absent can be set as a whole.
		"an absent parent": {"{kind: A}", nil},
		"nothing set": {"{spec: {}}", []string{
			"spec.labels: immutable keys, absent", "spec.ports: deletion only, absent", "spec.size: immutable, absent",
			"spec.zone: immutable, absent",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, lockLines(compile(t, marked).Locks(yamltest.Map(t, test.object)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if locks := (*immutability.Policy)(nil).Locks(map[string]any{"a": 1}); locks != nil {
		t.Errorf("no policy: %v", locks)
	}
}

// TestLocksOfRules checks rules below an immutable one, which replace it.
func TestLocksOfRules(t *testing.T) {
	t.Parallel()
	policy, err := immutability.Declare(pod)
	if err != nil {
		t.Fatal(err)
	}
	object := yamltest.Map(t, "{spec: {containers: [{name: a, image: b, resources: {limits: {cpu: 1}}}], tolerations: [{key: x}]}}")
	want := []string{
		"spec: immutable",
		"spec.activeDeadlineSeconds: immutable, absent, except: it may be set or come sooner",
		"spec.containers[0].image: free", "spec.containers[0].resources.limits.cpu: immutable",
		"spec.schedulingGates: deletion only, absent", "spec.tolerations: addition only",
	}
	if diff := cmp.Diff(want, lockLines(policy.Locks(object))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLocksOfMetadata checks rules about labels, which are no part of the schema.
func TestLocksOfMetadata(t *testing.T) {
	t.Parallel()
	policy := layered(t, "immutable metadata.labels[\"team\"]\naddition-only metadata.annotations")
	object := yamltest.Map(t, "{metadata: {labels: {team: a}, annotations: {a: b, holdfast.dev/keep: always}}}")
	want := []string{"metadata.labels.team: immutable", "metadata.annotations: addition only"}
	if diff := cmp.Diff(want, lockLines(policy.Locks(object))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
