package instance_test

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/admission/instance"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/yamltest"
)

// TestServerDoesNotAnswer checks that a client sends its request again if the plugin cannot read what it needs for its decision.
func TestServerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	late := apierrors.NewTimeoutError("etcd did not answer", 0)
	plugin := instance.NewPlugin(instance.Config{
		Versions: func(context.Context, string, string) (*api.OperatorVersion, error) {
			found := &api.OperatorVersion{}
			return found, yaml.Unmarshal([]byte(version), found)
		},
		Keys:      authorship.NewKeyring(func(context.Context) ([][]byte, error) { return nil, late }),
		Instances: func(context.Context, types.NamespacedName) ([]types.NamespacedName, error) { return nil, late },
	})
	alice := &user.DefaultInfo{Name: "alice"}
	instance := yamltest.Object(t, tok)
	create := admission.NewAttributesRecord(instance, nil, api.GroupVersion.WithKind("Instance"), "default", "tok",
		api.GroupVersion.WithResource("instances"), "", admission.Create, &metav1.CreateOptions{}, false, alice)
	version := yamltest.Object(t, version)
	remove := admission.NewAttributesRecord(nil, version, api.GroupVersion.WithKind("OperatorVersion"), "default", version.GetName(),
		api.GroupVersion.WithResource("operatorversions"), "", admission.Delete, &metav1.DeleteOptions{}, false, alice)
	for name, err := range map[string]error{
		"create an Instance":        plugin.Admit(t.Context(), create, nil),
		"delete an OperatorVersion": plugin.Validate(t.Context(), remove, nil),
	} {
		if _, again := apierrors.SuggestsClientDelay(err); !again {
			t.Errorf("%s: the answer does not tell the client to try again: %v", name, err)
		}
	}
}
