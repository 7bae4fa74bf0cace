package replacement_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/replacement"
)

func TestObstacle(t *testing.T) {
	t.Parallel()
	core := func(resource string) schema.GroupResource { return schema.GroupResource{Resource: resource} }
	claims, sets := core("persistentvolumeclaims"), schema.GroupResource{Group: "apps", Resource: "statefulsets"}
	tests := map[string]struct {
		object  replacement.Object
		allowed []string
		// want is in the error, empty if the object may be replaced.
		want string
	}{
		"a config map":        {object: replacement.Object{Resource: core("configmaps"), Name: "a"}},
		"a namespace":         {object: replacement.Object{Resource: core("namespaces"), Name: "a"}, allowed: []string{"Namespace/a"}, want: "namespaces are never replaced"},
		"a definition":        {object: replacement.Object{Resource: schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}}, want: "never replaced: the deletion of a definition"},
		"being deleted":       {object: replacement.Object{Resource: core("configmaps"), Deleting: true}, want: "it is being deleted"},
		"a finalizer":         {object: replacement.Object{Resource: core("configmaps"), Finalizers: []string{"example.com/a"}}, want: "the finalizer example.com/a"},
		"a pod on a node":     {object: replacement.Object{Resource: core("pods"), Node: "n1"}, want: "runs on the node n1"},
		"a claim":             {object: replacement.Object{Resource: claims, Kind: "PersistentVolumeClaim", Name: "a"}, want: "allowDataLoss=PersistentVolumeClaim/a"},
		"another is allowed":  {object: replacement.Object{Resource: claims, Kind: "PersistentVolumeClaim", Name: "a"}, allowed: []string{"PersistentVolumeClaim/b"}, want: "allowDataLoss"},
		"another kind":        {object: replacement.Object{Resource: claims, Kind: "PersistentVolumeClaim", Name: "a"}, allowed: []string{"PersistentVolume/a"}, want: "allowDataLoss"},
		"the loss is allowed": {object: replacement.Object{Resource: claims, Kind: "PersistentVolumeClaim", Name: "a"}, allowed: []string{"persistentvolumeclaim/a"}},
		"its finalizer, unused": {
			object:  replacement.Object{Resource: claims, Kind: "PersistentVolumeClaim", Name: "a", Finalizers: []string{"kubernetes.io/pvc-protection"}},
			allowed: []string{"PersistentVolumeClaim/a"},
		},
		"its finalizer, used": {
			object:  replacement.Object{Resource: claims, Kind: "PersistentVolumeClaim", Name: "a", Finalizers: []string{"kubernetes.io/pvc-protection"}, UsedBy: "the pod b"},
			allowed: []string{"PersistentVolumeClaim/a"}, want: "used by the pod b",
		},
		"the finalizer of a claim on another kind": {
			object: replacement.Object{Resource: core("configmaps"), Finalizers: []string{"kubernetes.io/pvc-protection"}}, want: "the finalizer kubernetes.io/pvc-protection",
		},
		"a volume":       {object: replacement.Object{Resource: core("persistentvolumes"), Kind: "PersistentVolume", Name: "a"}, want: "allowDataLoss=PersistentVolume/a"},
		"a stateful set": {object: replacement.Object{Resource: sets, Kind: "StatefulSet", Name: "a"}},
		"a stateful set that deletes its claims": {
			object: replacement.Object{Resource: sets, Kind: "StatefulSet", Name: "a", DeletesClaims: true}, want: "whenDeleted is Delete",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := test.object.Obstacle(test.allowed)
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}
