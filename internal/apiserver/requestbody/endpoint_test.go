package requestbody_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/yamltest"
)

// endpoint is a resource or a subresource that the tests send bodies to.
type endpoint struct {
	name string
	// collection and object are paths. A subresource has no collection.
	collection, object string
	// text is a valid body, as YAML.
	text string
	// message is the Go type of the body in protobuf; nil for a kind without one.
	message runtime.Object
}

const thingText = `{apiVersion: media.example.com/v1, kind: thing, metadata: {name: %s}, spec: {replicas: 1}}`

const deploymentText = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s}, spec: {selector: {matchLabels: {a: b}},
 template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`

const scaleText = `{apiVersion: autoscaling/v1, kind: Scale, metadata: {name: %s, namespace: default}, spec: {replicas: 2}}`

const definitionText = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %ss.media.example.com}
spec:
  group: media.example.com
  scope: Namespaced
  names: {plural: %[1]ss, kind: %[1]s}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, x-kubernetes-preserve-unknown-fields: true},
      status: {type: object, properties: {replicas: {type: integer}}}}}}`

func endpoints() []endpoint {
	const core, apps = "/api/v1/namespaces/default/", "/apis/apps/v1/namespaces/default/"
	const custom, definitions = "/apis/media.example.com/v1/namespaces/default/", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	text := func(format, name string) string { return fmt.Sprintf(format, name) }
	return []endpoint{
		{
			"configmaps", core + "configmaps", core + "configmaps/media",
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: media}, data: {a: b}}`, &corev1.ConfigMap{},
		},
		{"deployments/status", "", apps + "deployments/media/status", text(deploymentText, "media"), &appsv1.Deployment{}},
		{"deployments/scale", "", apps + "deployments/media/scale", text(scaleText, "media"), &autoscalingv1.Scale{}},
		{
			"definitions", definitions, definitions + "/things.media.example.com",
			text(definitionText, "thing"), &apiextensionsv1.CustomResourceDefinition{},
		},
		{"things", custom + "things", custom + "things/media", text(thingText, "media"), nil},
		{"things/status", "", custom + "things/media/status", text(thingText, "media"), nil},
		{"things/scale", "", custom + "things/media/scale", text(scaleText, "media"), &autoscalingv1.Scale{}},
	}
}

// another returns the text of another object, which does not exist yet.
func (e endpoint) another() string {
	if e.name == "definitions" {
		return fmt.Sprintf(definitionText, "other")
	}
	return strings.ReplaceAll(e.text, "name: media", "name: other")
}

// encode returns an object, as YAML, in the encoding of a media type.
func (e endpoint) encode(t *testing.T, mediaType, text string) []byte {
	t.Helper()
	data := yamltest.JSON(t, text)
	base, _, _ := strings.Cut(strings.ToLower(mediaType), ";")
	switch base {
	case "application/yaml":
		return []byte(text)
	case "application/cbor", "application/apply-patch+cbor":
		encoded, err := direct.Marshal(yamltest.Value(t, text))
		if err != nil {
			t.Fatal(err)
		}
		return encoded
	case "application/vnd.kubernetes.protobuf":
		unknown := &runtime.Unknown{Raw: data, TypeMeta: *yamltest.Known[runtime.TypeMeta](t, text)}
		if e.message != nil {
			message := e.message.DeepCopyObject()
			err := yaml.Unmarshal(data, message) // the fields that the message has
			if err != nil {
				t.Fatal(err)
			}
			if unknown.Raw, err = message.(interface{ Marshal() ([]byte, error) }).Marshal(); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		if err := protobuf.NewSerializer(nil, nil).Encode(unknown, &out); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	return data
}

// forms are the bodies that the tests send: a valid one, and faulty ones.
var forms = []string{"valid", "empty", "garbage", "truncated", "another kind"}

// body returns a body of a form in a media type.
func (e endpoint) body(t *testing.T, mediaType, form, valid string) []byte {
	t.Helper()
	switch form {
	case "empty":
		return nil
	case "garbage":
		return []byte("\x00{]\xffgarbage: {")
	case "another kind":
		return e.encode(t, mediaType, `{apiVersion: v1, kind: Secret, metadata: {name: media}, data: {a: Yg==}}`)
	}
	data := e.encode(t, mediaType, valid)
	if form == "truncated" {
		return data[:len(data)/2]
	}
	return data
}

// patch returns a valid patch, as YAML, for a media type.
func (e endpoint) patch(mediaType string) string {
	switch {
	case strings.HasPrefix(mediaType, "application/json-patch"):
		return `[{op: add, path: /metadata/labels, value: {a: b}}]`
	case strings.HasPrefix(mediaType, "application/apply-patch"):
		var head struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Metadata   struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		_ = yaml.Unmarshal([]byte(e.text), &head) // the text is a constant
		return fmt.Sprintf(`{apiVersion: %s, kind: %s, metadata: {name: %s, labels: {a: b}}}`, head.APIVersion, head.Kind, head.Metadata.Name)
	}
	return `{metadata: {labels: {a: b}}}`
}
