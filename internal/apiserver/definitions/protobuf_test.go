package definitions_test

import (
	"net/http"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	restclient "k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// The server accepts definitions in protobuf, which upstream's Go client sends.
func TestDefinitionsInProtobuf(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	config := server.Config(t)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	definitions := apiextensions.NewForConfigOrDie(config).ApiextensionsV1().CustomResourceDefinitions()

	maximum := 5.0
	created, err := definitions.Create(t.Context(), &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "things.proto.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "proto.example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Kind: "Thing"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
						"num": {Type: "integer", Maximum: &maximum, Default: &apiextensionsv1.JSON{Raw: []byte("3")}},
					},
				}},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	num := created.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["num"]
	if num.Maximum == nil || *num.Maximum != maximum || num.Default == nil || string(num.Default.Raw) != "3" {
		t.Errorf("stored %+v", num)
	}
	// The server may write the status at the same time.
	waittest.Until(t, "the definition is updated", func() bool {
		crd, err := definitions.Get(t.Context(), created.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		crd.Labels = map[string]string{"a": "b"}
		updated, err := definitions.Update(t.Context(), crd, metav1.UpdateOptions{})
		if err != nil && !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
		return err == nil && updated.Labels["a"] == "b"
	})
	if err := definitions.Delete(t.Context(), created.Name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}

	client, err := restclient.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	url := server.URL() + "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	res, err := client.Post(url, runtime.ContentTypeProtobuf, strings.NewReader("no protobuf"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("a body that is no protobuf: %s", res.Status)
	}
}
