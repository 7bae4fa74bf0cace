package requestbody_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/nesting"
	"holdfast.dev/holdfast/internal/yamltest"
)

const (
	jsonType, yamlType, protobufType = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
	mergeType, strategicType         = "application/merge-patch+json", "application/strategic-merge-patch+json"
	jsonPatchType, applyType         = "application/json-patch+json", "application/apply-patch+yaml"
	definitionsPath                  = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
)

// nested returns an object with the given number of levels.
func nested(levels int) string {
	return strings.Repeat(`{"a":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
}

// preserving returns the definition of Things that keep unknown fields, as JSON.
func preserving(t *testing.T, group string) []byte {
	t.Helper()
	data := yamltest.JSON(t, fmt.Appendf(nil, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.%s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, x-kubernetes-preserve-unknown-fields: true},
      status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}`, group))
	return data
}

// nestedThing returns a Thing with the given number of levels.
func nestedThing(name string, levels int) string {
	return fmt.Sprintf(`{"apiVersion":"nesting.example.com/v1","kind":"Thing","metadata":{"name":%q},"spec":%s}`, name, nested(levels-1))
}

// message encodes an object in protobuf.
func message(t *testing.T, version, kind string, obj interface{ Marshal() ([]byte, error) }) []byte {
	t.Helper()
	raw, err := obj.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	unknown := &runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: version, Kind: kind}, Raw: raw}
	if err := protobuf.NewSerializer(nil, nil).Encode(unknown, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// nestedSchema returns a definition with a schema of the given number of levels.
func nestedSchema(levels int) *apiextensionsv1.CustomResourceDefinition {
	schema := &apiextensionsv1.JSONSchemaProps{}
	for range levels {
		schema = &apiextensionsv1.JSONSchemaProps{Not: schema}
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "deeps.nesting.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "nesting.example.com", Scope: "Cluster", Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "deeps", Kind: "Deep"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schema}},
			},
		},
	}
}

// veryDeep is a definition with a schema of 300,000 levels.
type veryDeep struct{}

// Marshal returns the definition in protobuf. The fields of each level are not, and around
// them spec, versions, schema and openAPIV3Schema.
func (veryDeep) Marshal() ([]byte, error) {
	const not, length = 28<<3 | 2, 2
	var parts [][]byte
	size := 0
	for i := range 300_000 + 4 {
		tag := uint64(not)
		if outer := i - 300_000; outer >= 0 {
			tag = []uint64{1, 4, 7, 2}[outer]<<3 | length
		}
		part := binary.AppendUvarint(binary.AppendUvarint(nil, tag), uint64(size))
		parts, size = append(parts, part), size+len(part)
	}
	slices.Reverse(parts)
	return bytes.Join(parts, nil), nil
}

// TestNesting sends values with too many levels in every way in which a client can send them.
func TestNesting(t *testing.T) {
	const things = "/apis/nesting.example.com/v1/namespaces/default/things"
	const core, revisions = "/api/v1/namespaces/default/", "/apis/apps/v1/namespaces/default/controllerrevisions"
	limit := nesting.Limit
	shared.must(t, http.StatusCreated, call{method: "POST", path: definitionsPath, body: preserving(t, "nesting.example.com")})
	shared.must(t, http.StatusCreated, call{method: "POST", path: things, body: []byte(nestedThing("limit", limit))})
	shared.must(t, http.StatusCreated, call{method: "POST", path: things, body: []byte(nestedThing("flat", 2))})
	deep := nestedThing("flat", limit+1)
	block := "apiVersion: nesting.example.com/v1\nkind: Thing\nmetadata: {name: flat}\nspec:\n  a:\n  " + strings.Repeat("- ", limit) + "b"
	fields := metav1.NewFieldsV1(nested(limit + 2))
	managed := metav1.ObjectMeta{Name: "deep", ManagedFields: []metav1.ManagedFieldsEntry{
		{Manager: "m", Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: fields},
	}}
	schema, err := json.Marshal(nestedSchema(limit))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]call{
		"create":                  {method: "POST", path: things, contentType: jsonType, body: []byte(deep)},
		"create without a type":   {method: "POST", path: things, body: []byte(deep)},
		"create in YAML":          {method: "POST", path: things, contentType: yamlType, body: []byte(block)},
		"update":                  {method: "PUT", path: things + "/flat", contentType: jsonType, body: []byte(deep)},
		"update of the status":    {method: "PUT", path: things + "/flat/status", contentType: jsonType, body: []byte(deep)},
		"merge patch":             {method: "PATCH", path: things + "/flat", contentType: mergeType, body: []byte(deep)},
		"merge patch with params": {method: "PATCH", path: things + "/flat", contentType: mergeType + ";;", body: []byte(deep)},
		"strategic merge patch":   {method: "PATCH", path: core + "configmaps/kube-root-ca.crt", contentType: strategicType, body: []byte(deep)},
		"apply":                   {method: "PATCH", path: things + "/flat?fieldManager=m", contentType: applyType, body: []byte(deep)},
		"apply in YAML":           {method: "PATCH", path: things + "/flat?fieldManager=m", contentType: applyType, body: []byte(block)},
		"JSON patch": {method: "PATCH", path: things + "/flat", contentType: jsonPatchType, body: fmt.Appendf(nil,
			`[{"op":"add","path":"/spec/b","value":%s}]`, nested(limit))},
		"JSON patch that copies": {method: "PATCH", path: things + "/flat", contentType: jsonPatchType, body: []byte(
			`[` + strings.Repeat(`{"op":"copy","from":"/spec","path":"/spec/a"},`, limit+1) + `{"op":"test","path":"/kind","value":"Thing"}]`)},
		"JSON patch with a deep result": {method: "PATCH", path: things + "/limit", contentType: jsonPatchType, body: []byte(
			`[{"op":"move","from":"/spec","path":"/status"},{"op":"add","path":"/spec","value":{"b":{}}},` +
				`{"op":"move","from":"/status","path":"/spec/b/c"}]`)},
		"delete":            {method: "DELETE", path: things + "/flat", contentType: jsonType, body: []byte(deep)},
		"delete collection": {method: "DELETE", path: things, contentType: yamlType, body: []byte(block)},
		"built-in kind":     {method: "POST", path: core + "configmaps", contentType: jsonType, body: []byte(deep)},
		"managed fields in protobuf": {method: "POST", path: core + "configmaps", contentType: protobufType, body: message(t, "v1", "ConfigMap",
			&corev1.ConfigMap{ObjectMeta: managed})},
		"JSON in protobuf": {method: "POST", path: revisions, contentType: protobufType, body: message(t, "apps/v1", "ControllerRevision",
			&appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "deep"}, Data: runtime.RawExtension{Raw: []byte(nested(limit + 1))}})},
		"schema": {method: "POST", path: definitionsPath, contentType: jsonType, body: schema},
		"schema in protobuf": {method: "POST", path: definitionsPath, contentType: protobufType, body: message(t,
			"apiextensions.k8s.io/v1", "CustomResourceDefinition", nestedSchema(limit))},
		// Without a bound, the decoder of this message needs more stack than a goroutine may have.
		"very deep schema in protobuf": {method: "POST", path: definitionsPath, contentType: protobufType, body: message(t,
			"apiextensions.k8s.io/v1", "CustomResourceDefinition", veryDeep{})},
	}
	want := fmt.Sprintf("nested deeper than %d levels", limit)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if code, answer := shared.do(t, test); code != http.StatusBadRequest || !strings.Contains(answer, want) {
				t.Errorf("got %d %.300s, want 400 with %q", code, answer, want)
			}
		})
	}

	// An object with the allowed levels can be read and written back, with its managed fields.
	read := shared.must(t, http.StatusOK, call{method: "GET", path: things + "/limit"})
	shared.must(t, http.StatusOK, call{method: "PUT", path: things + "/limit", body: []byte(read)})

	// The size of the result of a JSON patch is bounded, too.
	double := `{"op":"copy","from":"/spec","path":"/spec/b"},{"op":"move","from":"/spec/b","path":"/spec/a"},`
	patch := `[{"op":"add","path":"/spec/c","value":"` + strings.Repeat("x", 1<<20) + `"},` +
		strings.Repeat(double, 8) + `{"op":"remove","path":"/spec/c"}]`
	code, answer := shared.do(t, call{method: "PATCH", path: things + "/flat", contentType: jsonPatchType, body: []byte(patch)})
	if code != http.StatusUnprocessableEntity {
		t.Errorf("copies that double the object: got %d %.300s", code, answer)
	}
	if found := recovered.all(); len(found) > 0 {
		t.Errorf("the server recovered from panics: %q", found)
	}
}

// TestDeepObjectsOfEarlierReleases checks that an object which is stored with more levels can
// be read, labelled, reduced and deleted, and gets no further levels.
func TestDeepObjectsOfEarlierReleases(t *testing.T) {
	t.Parallel()
	address := servertest.StartEtcd(t, transport.TLSInfo{})
	c, err := newClient(servertest.Start(t, apiserver.Config{Etcd: etcd.Cluster{Servers: []string{address}}}).Config(t))
	if err != nil {
		t.Fatal(err)
	}
	store, err := clientv3.New(clientv3.Config{Endpoints: []string{address}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	c.must(t, http.StatusCreated, call{method: "POST", path: definitionsPath, body: preserving(t, "nesting.example.com")})
	for _, name := range []string{"old", "older"} {
		const levels = 5000
		text := fmt.Sprintf(`{"apiVersion":"nesting.example.com/v1","kind":"Thing","metadata":{"name":%q,"namespace":"default",`+
			`"uid":"00000000-0000-0000-0000-%012d","managedFields":[{"manager":"m","operation":"Update",`+
			`"apiVersion":"nesting.example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":%s}}]},"spec":%s}`,
			name, len(name), strings.ReplaceAll(nested(levels), `"a"`, `"f:a"`), nested(levels))
		if _, err := store.Put(t.Context(), "/registry/nesting.example.com/things/default/"+name, text); err != nil {
			t.Fatal(err)
		}
	}
	const old = "/apis/nesting.example.com/v1/namespaces/default/things/old"
	if read := c.must(t, http.StatusOK, call{method: "GET", path: old}); !strings.Contains(read, nested(5000)) {
		t.Errorf("the object lacks levels")
	}
	label := call{method: "PATCH", path: old, contentType: mergeType, body: []byte(`{"metadata":{"labels":{"a":"b"}}}`)}
	if read := c.must(t, http.StatusOK, label); !strings.Contains(read, `"m"`) || !strings.Contains(read, nested(5000)) {
		t.Errorf("the object lost levels or its managed fields")
	}
	for name, refused := range map[string]call{
		"more levels": {method: "PATCH", path: old, contentType: jsonPatchType, body: []byte(
			`[{"op":"move","from":"/spec","path":"/status"},{"op":"add","path":"/spec","value":{}},` +
				`{"op":"move","from":"/status","path":"/spec/b"}]`)},
		"apply": {method: "PATCH", path: old + "?fieldManager=m", contentType: applyType, body: []byte(nestedThing("old", 2))},
	} {
		if code, answer := c.do(t, refused); code != http.StatusBadRequest || !strings.Contains(answer, "nested deeper than") {
			t.Errorf("%s: got %d %.300s", name, code, answer)
		}
	}
	c.must(t, http.StatusOK, call{method: "PATCH", path: old, contentType: mergeType, body: []byte(`{"spec":null}`)})
	apply := call{method: "PATCH", path: old + "?fieldManager=n", contentType: applyType, body: []byte(nestedThing("old", 2))}
	c.must(t, http.StatusOK, apply)
	c.must(t, http.StatusOK, call{method: "DELETE", path: old})
	c.must(t, http.StatusOK, call{method: "DELETE", path: old + "er"})
}
